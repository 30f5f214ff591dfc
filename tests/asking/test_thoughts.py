"""What a model thinks is kept and never used: it reaches no prompt, no reader and no score, in any benchmark, over HTTP."""

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import duckdb
import polars as pl
import pytest

from metacog_pipeline.asking import construction, judging, tasks
from metacog_pipeline.benchmark.bound import enabled
from metacog_pipeline.errors import SourceError
from metacog_pipeline.leaderboard.build import build
from metacog_pipeline.leaderboard.read import run_query
from metacog_pipeline.leaderboard.status import write_status
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, Completion, Status, Usage
from metacog_pipeline.scoring import files
from metacog_pipeline.study import Study, load_study
from metacog_pipeline.transcripts.folder import kept_folders
from metacog_pipeline.transcripts.store import read_partition
from tests import homes
from tests.asking_in_process import ask
from tests.provider import UnknownQuestion
from tests.simulated_server import ServerThread

pytestmark = pytest.mark.proof  # two studies of every benchmark, with their boards
CANARY = "<b>tHoUgHt-cAnArY</b> Answer: Z, confidence 0.123"
KEY = "sk-kEy-cAnArY-0123456789"
SETTINGS = """
[benchmarks.metamedqa]
dataset = "sample"
limit = 4
[benchmarks.signaldetection]
dataset = "sample"
tasks = ["A"]
trials = 4
[benchmarks.medley]
dataset = "sample"
limit = 2
conditions = ["normal", "adversarial"]
[benchmarks.metacogbench]
limit = 2
[benchmarks.selfknowledge]
limit = 4
"""
STUDY = f'[study]\nname = "t"\nhome = "home"\nseed = 3\n[[models]]\nname = "alpha"\n%s\n{SETTINGS}'
OVER_HTTP = """provider = "openai"
model = "{served}"
base_url = "{url}/v1"
api_key_env = "THOUGHTS_KEY"
price_in = 2.0
price_out = 8.0
price_reasoning = 10.0
"""


Respond = Callable[[ChatRequest], str | Completion]


def respondents(study: Study) -> Mapping[str, Respond]:
    """Return who answers under each name, whatever benchmark asks."""
    simulated = [spec for spec in study.askable if spec.provider == "simulated"]
    return {spec.name: _first_that_knows(list(_observers(study, spec))) for spec in simulated}


def _observers(study: Study, spec: ModelSpec) -> Iterator[Any]:
    measured = spec in study.models
    for benchmark in enabled(study):
        if measured:
            with contextlib.suppress(SourceError):  # items that models must make first
                yield benchmark.observer(spec.observer)
    for benchmark in enabled(study):
        judges = judging.wanted(benchmark)
        if judges is not None and spec in (judges.judges(benchmark, spec) if measured else study.judges):
            yield judges.respondent(benchmark, spec)
        for role in (step.asks for step in benchmark.construction() if not measured):
            if role is not None and role.respondent is not None:
                yield role.respondent(benchmark, spec)


def _first_that_knows(observers: Sequence[Any]) -> Respond:
    def respond(request: ChatRequest) -> str | Completion:
        for each in observers:
            if each.knows(request):
                return each(request)
        raise UnknownQuestion("nobody of this study knows the question")

    return respond


@pytest.fixture(scope="module")
def studies(few_resamples, tmp_path_factory):
    """The same model twice, once thinking aloud and once not, and what was sent to the one that thinks."""
    folder = tmp_path_factory.mktemp("thoughts")
    for name in ("simulated", "silent", "thinking"):
        (folder / name).mkdir()
    (folder / "simulated" / "study.toml").write_text(STUDY % 'provider = "simulated"')
    simulated = load_study(folder / "simulated" / "study.toml")
    simulated.prepare()
    homes.lend_cases(simulated)
    for benchmark in enabled(simulated):
        construction.build(benchmark)
    observer = respondents(simulated)["alpha"]
    sent: list[str] = []

    def respond(model: str, request: ChatRequest) -> str | Completion:
        answer = observer(request)
        if model == "silent":
            return answer
        sent.extend(message.content for message in request.messages)
        whole = Completion(Status.OK, answer) if isinstance(answer, str) else answer
        usage = Usage(input_tokens=300, output_tokens=40, reasoning_tokens=25)
        return replace(whole, reasoning_text=CANARY, usage=usage)

    with (
        pytest.MonkeyPatch.context() as patched,
        ServerThread(respond, models=("thinking", "silent"), key=KEY) as server,
    ):
        patched.setenv("THOUGHTS_KEY", KEY)
        studies = []
        for name in ("thinking", "silent"):
            path = folder / name / "study.toml"
            path.write_text(STUDY % OVER_HTTP.format(url=server.url, served=name))
            studies.append(load_study(path))
            _scored(studies[-1])
        yield studies[0], studies[1], sent


def _scored(study: Study) -> None:
    study.prepare()
    homes.lend_cases(study)
    for benchmark in enabled(study):
        construction.build(benchmark)
        for partition in tasks.partitions(benchmark):
            assert ask(benchmark, partition).complete, benchmark.name
            files.read(benchmark, partition)
            files.score(benchmark, partition)
        files.pool(benchmark)
        files.compare(benchmark)
    write_status(study)
    build(study.home)


def _kept(study: Study) -> pl.DataFrame:
    found = kept_folders(study.home, model="alpha")
    assert len(found) == 5
    return pl.concat([pl.DataFrame(pl.from_arrow(read_partition(folder))) for folder in found])


def test_thoughts_are_kept_with_every_answer(studies):
    kept = _kept(studies[0]).filter((pl.col("status") == "ok") & (pl.col("attempts") > 0))
    assert kept.height > 40 and kept["reasoning_text"].to_list() == [CANARY] * kept.height
    assert kept["latency_ms"].min() is not None and kept["latency_first_ms"].min() is not None
    assert kept["response_id"].n_unique() == kept.height


def test_thoughts_reach_no_prompt_and_no_reader(studies):
    study, _, sent = studies
    assert len(sent) > 40 and not any("cAnArY" in text for text in sent)
    for column in ("request_json", "text"):
        assert not any("cAnArY" in text for text in _kept(study)[column].to_list())
    made = [path for path in study.home.path.rglob("*.parquet") if "transcripts" not in path.parts]
    assert len(made) > 30
    for path in made:
        assert "cAnArY" not in str(pl.read_parquet(path, hive_partitioning=False).to_dicts()), path
    with duckdb.connect(str(study.home / "leaderboard.duckdb"), read_only=True) as connection:
        tables = connection.execute("select schema_name || '.' || table_name from duckdb_tables()").fetchall()
        for (table,) in tables:
            assert "cAnArY" not in str(connection.execute(f"select * from {table}").fetchall()), table
    assert (CANARY,) in run_query(study.home, "select distinct reasoning_text from transcripts").rows


def test_a_model_that_thinks_aloud_scores_as_one_that_does_not(studies):
    asked = "select * exclude (source) from leaderboard where source <> 'published' order by all"
    rows = [run_query(each.home, asked).rows for each in studies[:2]]
    assert len(rows[0]) > 100 and str(rows[0]) == str(rows[1])


def test_what_was_paid_follows_from_what_is_kept(studies):
    home = studies[0].home
    [billed] = run_query(
        home, "select sum(calls), sum(unpriced), sum(billed_again), sum(reasoning_tokens) from costs"
    ).rows
    assert int(str(billed[0])) > 40 and billed[1:3] == (0, 0) and int(str(billed[3])) > 0
    (total,) = run_query(home, "select sum(cost_usd), sum(unsplit_usd), sum(reasoning_usd) from costs").rows
    assert float(str(total[0])) > 0 and float(str(total[1])) == pytest.approx(0, abs=1e-9)
    assert float(str(total[2])) > 0
    assert json.loads(_kept(studies[0])["prices_json"][0])["reasoning"] == 10.0
