"""What ``metacog run`` launches: only what is needed, whatever else is broken."""

from dataclasses import replace
from typing import Any

import pytest

from metacog_assets.study_file import current_study
from metacog_pipeline import registry
from metacog_pipeline.asking import construction
from metacog_pipeline.benchmark.bound import bound
from metacog_pipeline.scoring import files
from metacog_pipeline.scoring.responses import read_responses as whole
from metacog_pipeline.study import digests
from metacog_pipeline.transcripts.store import partition_folder, read_partition

ITEMS = 6
BUILD, BOARDS = "build_items", "publish"


def measured(name: str, run: int = 1) -> str:
    return f"ask {name}|{run}"


def board_of(bench: Any, table: str = "leaderboard") -> dict[str, float]:
    """Return the coverage of each model on a board."""
    rows = bench.sql(f"select model, estimate from {table} where measure = 'coverage'")
    return {str(name): float(value) for name, value in rows}


def both() -> str:
    """The run that asks both models at once."""
    return "ask first|1..second|1"


def official_exists(bench: Any) -> bool:
    return bool(bench.sql("select 1 from duckdb_tables() where table_name = 'leaderboard_official'"))


def test_a_finished_study_launches_nothing_and_asks_nothing(bench, http, provider):
    bench.write(http("first"), http("second"))
    assert bench.launch() == 0
    assert bench.runs() == [BUILD, both(), BOARDS]
    calls, before = dict(provider.calls), len(bench.runs())
    assert set(calls) == {"first", "second"}
    assert bench.launch() == 0
    assert len(bench.runs()) == before
    assert provider.calls == calls
    assert board_of(bench, "leaderboard_official").keys() == {"first", "second"}
    noted = digests.compare(
        current_study().home
    )  # by the assets: a backfill of the UI has no command that does
    assert (noted.same > 20, noted.damage, noted.new) == (True, {}, 0)


def test_questions_built_by_another_command_are_still_built_in_the_graph(bench, http):
    bench.write(http("first"))
    study = current_study()
    study.home.prepare()
    construction.build(bound(study, "metamedqa"))
    assert bench.launch() == 0
    assert bench.runs() == [BUILD, measured("first"), BOARDS]


def test_a_model_added_to_a_finished_study_runs_its_partition_and_the_boards_only(bench, http, provider):
    bench.write(http("first"))
    bench.launch()
    calls, before = dict(provider.calls), bench.runs()
    bench.write(http("first"), http("added"))
    assert bench.launch() == 0
    assert bench.runs()[len(before) :] == [measured("added"), BOARDS]
    assert {name: n for name, n in provider.calls.items() if name != "added"} == calls
    assert provider.calls["added"] == calls["first"]
    assert board_of(bench).keys() == board_of(bench, "leaderboard_official").keys() == {"first", "added"}


def test_more_questions_ask_only_the_new_ones(bench, http, provider):
    bench.write(http("first"))
    bench.launch()
    bench.write(http("first"), limit=ITEMS + 4)
    assert bench.launch() == 0
    assert provider.calls["first"] == ITEMS + 4
    assert bench.runs()[-2:] == [measured("first"), BOARDS]


def test_only_the_named_model_is_asked(bench, http, provider):
    bench.write(http("first"), http("second"))
    assert bench.launch(models=["second"]) == 0
    assert set(provider.calls) == {"second"}
    assert not official_exists(bench)


def test_force_scores_again_and_asks_nothing(bench, http, provider):
    bench.write(http("first"))
    bench.launch()
    calls, before = dict(provider.calls), bench.runs()
    assert bench.launch(force=True) == 0
    assert bench.runs()[len(before) :] == [BUILD, measured("first"), BOARDS]
    assert provider.calls == calls


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ({"api_key_env": "METACOG_TEST_NO_SUCH_KEY"}, "METACOG_TEST_NO_SUCH_KEY"),
        ({"base_url": "http://127.0.0.1:9/v1"}, "no connection to 127.0.0.1"),
    ],
    ids=["no key", "nobody there"],
)
def test_a_model_that_fails_blocks_nobody_and_is_named(bench, http, monkeypatch, capfd, broken, reason):
    monkeypatch.setattr(
        "metacog_pipeline.llm.retry.Retries.pause", lambda *_, **__: None
    )  # so as not to wait
    bench.write(http("broken", **broken), http("good"))
    assert bench.launch() == 7
    err = capfd.readouterr().err
    named = [line for line in err.splitlines() if line.startswith("metacog: ")]
    assert len(named) == 1
    assert "broken" in named[0]
    assert reason in named[0]
    assert "Traceback" not in err
    assert "official board waits" in err
    assert board_of(bench) == {"broken": 0.0, "good": 1.0}
    assert not official_exists(bench)
    states = dict(bench.sql("select model, state from progress"))
    assert states == {"broken": "failed", "good": "complete"}


def test_a_repaired_model_makes_the_board_official(bench, http, provider, monkeypatch):
    bench.write(http("broken", api_key_env="METACOG_TEST_KEY"), http("good"))
    assert bench.launch() == 7
    good = provider.calls["good"]
    monkeypatch.setenv("METACOG_TEST_KEY", "sk-test")
    before = bench.runs()
    assert bench.launch() == 0
    assert bench.runs()[len(before) :] == [measured("broken"), BOARDS]
    assert provider.calls["good"] == good
    assert board_of(bench, "leaderboard_official") == {"broken": 1.0, "good": 1.0}


def test_a_provider_that_says_no_to_every_call_gives_one_line(bench, http, provider, capfd):
    from metacog_pipeline.llm.server.faults import FaultPlan

    provider.server.provider.use(FaultPlan(rates={"unauthorized": 1.0}))
    bench.write(http("denied"))
    assert bench.launch() == 6
    err = capfd.readouterr().err
    assert "401" in err
    assert "Traceback" not in err
    assert board_of(bench) == {"denied": 0.0}


def test_a_retired_model_leaves_the_boards_and_keeps_its_answers(bench, http, provider):
    bench.write(http("first"), http("second"))
    bench.launch()
    answers = read_partition(partition_folder(bench.home, "metamedqa", "second", 1)).num_rows
    calls = dict(provider.calls)
    bench.write(http("first"))
    assert bench.launch() == 0
    assert board_of(bench).keys() == board_of(bench, "leaderboard_official").keys() == {"first"}
    assert bench.instance.get_dynamic_partitions("model") == ["first"]
    assert read_partition(partition_folder(bench.home, "metamedqa", "second", 1)).num_rows == answers
    bench.write(http("first"), http("second"))
    assert bench.launch() == 0
    assert provider.calls == calls, "a model that comes back is not asked again"
    assert board_of(bench).keys() == {"first", "second"}


def test_questions_that_cannot_be_built_end_with_the_code_of_their_error(bench, http, provider, capfd):
    text = bench.path.read_text().replace('dataset = "sample"', 'dataset = "custom"\nfolder = "nowhere"')
    bench.path.write_text(text)
    assert bench.launch() == 3
    err = capfd.readouterr().err
    assert "nowhere" in err
    assert "Traceback" not in err
    assert not provider.calls


def test_wrong_observations_are_not_scored_and_the_check_is_named(bench, simulated, monkeypatch, capfd):
    monkeypatch.setattr(files, "read_responses", lambda *args, **more: whole(*args, **more).head(ITEMS - 1))
    bench.write(simulated("first"))
    assert bench.launch() == 1
    err = capfd.readouterr().err
    assert "check complete_and_readable of metamedqa_responses failed" in err
    assert "Traceback" not in err
    assert not list((bench.home / "estimates" / "metamedqa" / "runs").rglob("run=*.parquet"))
    before = bench.runs()
    monkeypatch.undo()
    monkeypatch.setenv("METACOG_STUDY", str(bench.path))
    assert bench.launch() == 0
    assert bench.runs()[len(before) :] == ["score first|1", BOARDS], "a refused file is not taken for current"
    assert board_of(bench) == {"first": 1.0}


def test_a_comparison_that_fails_leaves_its_own_rows_empty_and_the_rest_is_published(
    bench, simulated, monkeypatch, capfd
):
    def broken(*arguments: Any) -> Any:
        raise ValueError("the test is broken")

    found = registry.load("metamedqa")
    first, *others = found.contrasts
    monkeypatch.setattr(found, "contrasts", (replace(first, compute=broken), *others))
    bench.write(simulated("first"), simulated("second"))
    assert bench.launch() == 7
    err = capfd.readouterr().err
    [named] = [line for line in err.splitlines() if line.startswith("metacog: ")]
    assert "metamedqa_comparisons" in named and "the test is broken" in named
    assert "Traceback" not in err
    assert board_of(bench) == board_of(bench, "leaderboard_official") == {"first": 1.0, "second": 1.0}
    status = f"select distinct status from comparisons where family = '{first.family}'"
    assert ["the test is broken" in str(row[0]) for row in bench.sql(status)] == [True]
    assert bench.sql("select 1 from comparisons where status not like '%broken%' limit 1"), (
        "other tests stand"
    )
    monkeypatch.undo()
    monkeypatch.setenv("METACOG_STUDY", str(bench.path))
    before = len(bench.runs())
    assert bench.launch() == 0
    assert bench.runs()[before:] == [BOARDS], (
        "what failed is made by the next run, though nothing has changed"
    )
    assert not bench.sql("select 1 from comparisons where status like '%broken%'")


def test_partitions_that_fail_in_one_run_are_named_each_and_the_others_are_scored(
    bench, http, provider, capfd
):
    broken = {"api_key_env": "METACOG_TEST_NO_SUCH_KEY"}
    bench.write(http("good"), http("broken", **broken), http("worse", **broken), http("fine"))
    assert bench.launch() == 7
    named = [line for line in capfd.readouterr().err.splitlines() if line.startswith("metacog: ")]
    assert len(named) == 2
    assert "broken" in named[0] and "worse" in named[1]
    assert board_of(bench) == {"broken": 0.0, "fine": 1.0, "good": 1.0, "worse": 0.0}
