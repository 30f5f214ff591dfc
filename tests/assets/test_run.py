"""What ``metacog run`` launches: only what is needed, whatever else is broken."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from dagster import AssetKey, DagsterEventType

from metacog_assets import stages
from metacog_assets.partitions import ranges
from metacog_assets.run import Command
from metacog_assets.study_file import current_study
from metacog_pipeline import registry
from metacog_pipeline.benchmark.contract import Stage
from metacog_pipeline.errors import StoreError
from metacog_pipeline.report import PAGE
from metacog_pipeline.scoring import files
from metacog_pipeline.scoring.responses import read_responses as whole
from metacog_pipeline.scoring.staleness import REPORT
from metacog_pipeline.transcripts.store import PartitionFolder, read_partition

ITEMS = 6
BUILD, BOARDS = "items", "boards"


def measured(name: str, run: int = 1) -> str:
    return f"{name}|{run}"


def board_of(bench: Any, table: str = "leaderboard") -> dict[str, float]:
    """Return the coverage of each model on a board."""
    rows = bench.sql(f"select model, estimate from {table} where measure = 'coverage'")
    return {str(name): float(value) for name, value in rows}


def both() -> str:
    """The run that asks both models at once."""
    return "first|1..second|1"


def test_each_change_of_a_study_launches_only_what_it_needs(bench, http, provider):
    """One study through its life: what it asks, what it runs and who stands on its boards after each change."""

    def changed(*names: str, limit: int = ITEMS, **options: Any) -> tuple[list[str], dict[str, int]]:
        """Write the study and launch it; return the runs and the calls that this took."""
        bench.write(*map(http, names), limit=limit)
        runs, calls = len(bench.runs()), dict(provider.calls)
        assert bench.launch(**options) == 0
        took = {name: n - calls.get(name, 0) for name, n in provider.calls.items()}
        return bench.runs()[runs:], {name: n for name, n in took.items() if n}

    def on_boards(*names: str) -> bool:
        return board_of(bench).keys() == set(names)

    bench.write(http("first"))
    assert changed("first") == ([BUILD, measured("first"), BOARDS], {"first": ITEMS})
    assert changed("first") == ([], {}), "a finished study launches nothing and asks nothing"
    assert changed("first", force=True) == ([BUILD, measured("first"), BOARDS], {}), "force scores again"
    assert changed("first", "second") == ([measured("second"), BOARDS], {"second": ITEMS})
    assert on_boards("first", "second")
    runs, calls = changed("first", "second", limit=ITEMS + 4)
    assert (runs[-2:], calls) == ([both(), BOARDS], {"first": 4, "second": 4}), "only new questions are asked"

    folder = PartitionFolder(bench.home, "metamedqa", "second", 1)
    answers = read_partition(folder).num_rows
    assert changed("first", limit=ITEMS + 4)[1] == {} and on_boards("first")
    assert bench.instance.get_dynamic_partitions("model") == ["first"]
    assert read_partition(folder).num_rows == answers == ITEMS + 4, "a retired model keeps its answers"
    assert changed("first", "second", limit=ITEMS + 4)[1] == {}, "and is not asked again when it comes back"
    assert on_boards("first", "second")


def test_only_the_named_model_is_asked(bench, http, provider):
    bench.write(http("first"), http("second"))
    assert bench.launch(models=["second"]) == 0
    assert set(provider.calls) == {"second"}


def test_models_that_fail_block_nobody_and_are_named_and_repaired_they_are_on_the_board(
    bench, http, provider, monkeypatch, capfd
):
    monkeypatch.setattr(
        "metacog_pipeline.llm.retry.Retries.pause", lambda *_, **__: None
    )  # so as not to wait
    key = {"api_key_env": "METACOG_TEST_NO_SUCH_KEY"}
    bench.write(
        http("good"), http("locked", **key), http("nowhere", base_url="http://127.0.0.1:9/v1"), http("well")
    )
    assert bench.launch() == 7
    err = capfd.readouterr().err
    locked, nowhere = [line for line in err.splitlines() if line.startswith("metacog: ")]
    assert "locked" in locked and "METACOG_TEST_NO_SUCH_KEY" in locked
    assert "nowhere" in nowhere and "no connection to 127.0.0.1" in nowhere
    assert "Traceback" not in err
    answered = bench.instance.get_materialized_partitions(AssetKey(["metamedqa", "transcripts"]))
    assert answered == {"good|1", "well|1"}, "what was answered beside a failure is materialised"
    assert board_of(bench) == {"locked": 0.0, "nowhere": 0.0, "good": 1.0, "well": 1.0}
    states = dict(bench.sql("select model, state from progress"))
    assert states == {"locked": "failed", "nowhere": "failed", "good": "complete", "well": "complete"}

    monkeypatch.setenv("METACOG_TEST_NO_SUCH_KEY", "sk-test")
    bench.write(http("good"), http("locked", **key), http("nowhere"), http("well"))
    before, good = bench.runs(), provider.calls["good"]
    assert bench.launch() == 0
    assert bench.runs()[len(before) :] == ["locked|1..nowhere|1", BOARDS]
    assert provider.calls["good"] == good
    assert board_of(bench) == dict.fromkeys(("locked", "nowhere", "good", "well"), 1.0)


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
    assert "metamedqa/responses (first, run 1): 5 responses to 6 questions; nothing is passed on" in err
    assert "Traceback" not in err
    assert not list((bench.home / "estimates" / "metamedqa" / "runs").rglob("run=*.parquet"))
    before = bench.runs()
    monkeypatch.undo()
    monkeypatch.setenv("METACOG_STUDY", str(bench.path))
    assert bench.launch() == 0
    assert bench.runs()[len(before) :] == ["first|1", BOARDS], "a refused file is not taken for current"
    assert board_of(bench) == {"first": 1.0}


def test_parts_that_fail_leave_their_own_rows_empty_and_the_rest_is_published(
    bench, simulated, monkeypatch, capfd
):
    def broken(*arguments: Any) -> Any:
        raise ValueError("the test is broken")

    found = registry.load("metamedqa")
    first, *others = found.contrasts
    monkeypatch.setattr(found, "contrasts", (replace(first, compute=broken), *others))
    monkeypatch.setattr(found, "published", replace(found.published, claims=broken))
    bench.write(simulated("first"), simulated("second"))
    assert bench.launch() == 7
    assert bench.runs() == [BUILD, both(), BOARDS]
    err = capfd.readouterr().err
    named = sorted(line for line in err.splitlines() if line.startswith("metacog: "))
    assert len(named) == 2 and all("the test is broken" in line for line in named)
    assert "metamedqa_comparisons" in named[0] and "metamedqa_published" in named[1]
    assert "Traceback" not in err
    assert board_of(bench) == {"first": 1.0, "second": 1.0}
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


def test_a_report_that_failed_or_is_gone_is_written_by_the_next_run(bench, http, monkeypatch):
    page, noted = bench.home.report / PAGE, bench.home.status / REPORT

    def launched() -> list[str]:
        before = len(bench.runs())
        assert bench.launch() == 0 and page.is_file()
        return bench.runs()[before:]

    def failing(home: Any, name: str | None = None) -> Path:
        raise StoreError("no room")

    bench.write(http("first"))
    launched()
    of_one_model = noted.read_text()
    bench.write(http("first"), http("second"))
    with monkeypatch.context() as patch:
        patch.setattr("metacog_assets.boards.build_report", failing)
        assert bench.launch() != 0 and page.is_file(), "the old page is still there"
    assert launched() == [BOARDS] and launched() == [], "then nothing is left"
    page.unlink()
    assert launched() == [BOARDS]
    noted.write_text(of_one_model)  # as where the process ended between the board and its report
    assert launched() == [BOARDS]


def test_failures_of_one_kind_keep_their_exit_code_and_different_ones_are_some_failed(bench, simulated):
    def ended(*codes: int, others: bool = False) -> int:
        command = Command(current_study(), bench.instance, quiet=True, others_finished=others)
        for number, code in enumerate(codes):
            command.fail(f"m{number}", "why", code)
        return command.exit_code

    assert ended() == 0
    assert ended(5, 5) == 5
    assert ended(5, 6) == ended(6, 5) == ended(5, 6, 6) == ended(6, 6, 5) == 7
    assert ended(5, others=True) == 7, "while others finished"
    assert ended(9, others=True) == 9, "batches under way are no failure"


def test_derived_columns_that_vanish_are_refused_and_their_numbers_withdrawn(
    bench, simulated, monkeypatch, capfd
):
    found = registry.load("metamedqa")
    bench.write(simulated("first"))
    assert bench.launch() == 0
    derive = found.derive
    monkeypatch.setattr(found, "derive", lambda *given: derive(*given).drop("latency_s"))
    monkeypatch.setattr(found, "versions", {**found.versions, Stage.SCORING: "new"})
    assert bench.launch() == 1
    assert "metamedqa.derive returns responses without latency_s" in capfd.readouterr().err
    assert not list((bench.home / "estimates" / "metamedqa" / "runs").rglob("run=*.parquet"))


def test_many_failed_calls_warn_though_every_item_has_an_answer(bench, simulated, monkeypatch):
    whole = stages.query_partition

    def lossy(*args: Any, **named: Any) -> Any:
        return replace(whole(*args, **named), failed=1)

    monkeypatch.setattr(stages, "query_partition", lossy)
    bench.write(simulated("first"))
    bench.launch()
    [last] = bench.instance.fetch_materializations(AssetKey(["metamedqa", "transcripts"]), limit=1).records
    run = bench.instance.all_logs(last.run_id)
    checks = [
        each.dagster_event.asset_check_evaluation_data
        for each in run
        if each.dagster_event is not None
        and each.dagster_event.event_type is DagsterEventType.ASSET_CHECK_EVALUATION
    ]
    assert {each.check_name: each.passed for each in checks}["answered"] is False


def test_ranges_hold_exactly_the_partitions_that_are_asked_for():
    def found(*keys: tuple[str, int]) -> list[set[tuple[str, int]]]:
        return [own for _, own in ranges(set(keys), ["a", "b", "c", "d"])]

    assert found(("d", 1), ("a", 1), ("b", 1)) == [{("a", 1), ("b", 1)}, {("d", 1)}]
    assert found(("a", 1), ("a", 3)) == [{("a", 1)}, {("a", 3)}]
    assert found(("a", 1), ("a", 2), ("b", 2)) == [{("a", 1)}, {("a", 2), ("b", 2)}]
    [(tags, _)] = ranges({("b", 1), ("c", 1)}, ["a", "b", "c", "d"])
    assert [str(key) for key in tags.values()] == ["b|1", "c|1"]
