"""The marts and the printed board of signal detection, from synthetic Parquet files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from metacog_pipeline.errors import StoreError
from metacog_pipeline.leaderboard import Rows, board, build, load_models, render_board, run_query
from metacog_pipeline.leaderboard.columns import BOARDS
from metacog_pipeline.leaderboard.printing import notes, sections

MakeHome = Callable[..., Path]
MARTS = ("estimates", "counts", "comparisons", "criterion_shifts")


def rows(home: Path, sql: str) -> list[tuple[object, ...]]:
    return list(run_query(home, sql).rows)


def test_every_signal_detection_table_has_rows_where_everything_was_asked(make_sdt_home: MakeHome) -> None:
    home = make_sdt_home()
    report = build(home)
    own = [model for model in report.models if "signaldetection" in model.name and model.rows is not None]
    # The published tests wait for the published counts to be fitted again.
    empty = [model.name for model in own if model.rows == 0]
    assert empty == ["published_comparisons_signaldetection"]
    assert {f"signaldetection_{name}" for name in MARTS} <= {model.name for model in own}


def test_the_condition_on_the_board_is_task_and_condition(make_sdt_home: MakeHome) -> None:
    home = make_sdt_home(tasks=("A",))
    build(home)
    found = rows(home, "select distinct condition from board where source = 'measured' order by 1")
    assert found == [("A confidence",), ("A risk_none",), ("A risk_s1",), ("A risk_s2",)]
    assert rows(home, "select distinct condition from board_runs order by 1") == found


def test_the_board_says_what_the_estimates_say(make_sdt_home: MakeHome) -> None:
    home = make_sdt_home()
    build(home)
    differing = rows(
        home,
        "select task, condition, model, measure, estimate, low, high from signaldetection_estimates except "
        "select condition[1], condition[3:], model, measure, estimate, low, high from board where source = 'measured'",
    )
    assert differing == []
    assert rows(home, "select count(*) > 40 from signaldetection_estimates") == [(True,)]


def test_a_study_that_does_not_ask_signal_detection_has_nothing_of_it_on_its_board(
    make_home: MakeHome, make_sdt_home: MakeHome
) -> None:
    home = make_sdt_home({"alpha": "measured"})
    make_home(
        {"alpha": "measured"}, home=home
    )  # the study asks the other benchmark now; the old answers stay
    build(home)
    assert rows(home, "select distinct benchmark from board") == [("metamedqa",)]
    for name in MARTS:
        left = rows(home, f"select count(*) from signaldetection_{name} where source <> 'published'")
        assert left == [(0,)], name
    assert rows(home, "select count(*) > 0 from stg_signaldetection_observations") == [(True,)]
    shown = render_board(board(home), "table") + notes(home)
    assert "signaldetection" not in shown and "M-ratio" not in shown and "Criterion" not in shown


def test_a_study_that_does_not_ask_metamedqa_has_nothing_of_it_on_its_board(
    make_home: MakeHome, make_sdt_home: MakeHome
) -> None:
    home = make_home({"alpha": "measured"})
    make_sdt_home({"alpha": "measured"}, home=home)
    build(home)
    assert rows(home, "select distinct benchmark from board") == [("signaldetection",)]
    for name in ("estimates", "choices", "confidence", "kinds", "comparisons"):
        assert rows(home, f"select count(*) from metamedqa_{name}") == [(0,)], name
    shown = render_board(board(home), "table") + notes(home)
    assert "metamedqa" not in shown and "E chosen" not in shown


def test_a_board_with_one_benchmark_is_the_same_line_for_line_when_another_stands_beside_it(
    make_home: MakeHome, make_sdt_home: MakeHome
) -> None:
    home = make_home({"alpha": "measured", "beta": "measured"})
    build(home)
    alone = render_board(board(home), "table")
    assert alone == render_board(board(home, "metamedqa"), "table")
    make_sdt_home({"alpha": "measured", "beta": "measured"}, runs=2, home=home, beside=True)
    build(home)
    both = render_board(board(home), "table")
    assert both.startswith(alone) and len(both) > len(alone)
    assert render_board(board(home, "metamedqa"), "table") == alone


def test_every_listed_model_is_named_under_every_benchmark_asked(
    make_home: MakeHome, make_sdt_home: MakeHome
) -> None:
    home = make_home({"alpha": "measured"}, failing=["broken"], silent=["quiet"])
    make_sdt_home({"alpha": "measured"}, failing=["broken"], silent=["quiet"], runs=2, home=home, beside=True)
    build(home)
    found = rows(
        home,
        "select benchmark, model, max(coverage), max(n_failed) from board "
        "where measure = 'coverage' and model <> 'alpha' group by all order by all",
    )
    assert [row[:3] for row in found] == [
        ("metamedqa", "broken", 0.0),
        ("metamedqa", "quiet", 0.0),
        ("signaldetection", "broken", 0.0),
        ("signaldetection", "quiet", 0.0),
    ]
    assert "quiet" in render_board(board(home, "signaldetection"), "markdown")


def test_models_nobody_asked_yet_are_named_under_the_tasks_of_the_items(make_sdt_home: MakeHome) -> None:
    home = make_sdt_home({}, silent=["quiet"], tasks=("B", "C"))
    build(home)
    found = rows(home, "select condition, measure, estimate from board where model = 'quiet' order by 1")
    assert found == [("B confidence", "coverage", 0.0), ("C confidence", "coverage", 0.0)]


def test_tasks_and_data_sets_no_longer_asked_are_stale(make_sdt_home: MakeHome) -> None:
    home = make_sdt_home({"alpha": "measured", "old": "measured"}, tasks=("A", "B"), dataset="sample")
    make_sdt_home({"alpha": "measured"}, tasks=("A",), home=home)
    build(home)
    for name in ("estimates", "counts"):
        found = rows(home, f"select distinct dataset, task, model from signaldetection_{name}")
        assert found == [("published", "A", "alpha")], name


def test_counts_are_the_answers_read_and_those_not_read_stand_apart(make_sdt_home: MakeHome) -> None:
    home = make_sdt_home({"alpha": "measured"}, runs=2, count=50)
    build(home)
    [(all_answers, unread)] = rows(
        home,
        "select sum(n), sum(n) filter (where response is null) from signaldetection_counts where condition = 'confidence'",
    )
    assert all_answers == 2 * 2 * 50
    assert rows(
        home,
        "select count(*) filter (where response is null) from stg_signaldetection_observations "
        "where condition = 'confidence'",
    ) == [(unread,)]
    assert unread


def test_the_bins_of_the_counts_run_along_the_evidence(make_sdt_home: MakeHome) -> None:
    home = make_sdt_home({"alpha": "measured"}, count=400, tasks=("A",))
    build(home)
    found = rows(
        home,
        "select response, confidence from signaldetection_counts "
        "where condition = 'confidence' and stimulus = 1 and response is not null order by bin",
    )
    assert found == [(0, k) for k in (5, 4, 3, 2, 1)] + [(1, k) for k in (1, 2, 3, 4, 5)]
    assert rows(home, "select count(bin) from signaldetection_counts where condition = 'risk_s1'") == [(0,)]


def test_the_counts_of_a_model_make_the_vectors_other_programs_read(make_sdt_home: MakeHome) -> None:
    home = make_sdt_home({"alpha": "measured"}, count=400, tasks=("A",))
    build(home)
    [(vector, trials)] = rows(
        home,
        "select list(n order by bin), sum(n) from signaldetection_counts "
        "where condition = 'confidence' and stimulus = 0 and bin is not null",
    )
    assert isinstance(vector, list) and len(vector) == 10 and sum(vector) == trials


def test_each_criterion_shift_stands_beside_its_paired_test(make_sdt_home: MakeHome) -> None:
    home = make_sdt_home({"alpha": "measured"}, tasks=("A",))
    build(home)
    found = rows(
        home,
        "select a, b, z, verdict, paired_verdict, as_predicted from signaldetection_criterion_shifts "
        "where measure = 'c' order by all",
    )
    assert found == [
        ("risk_none", "risk_s1", 5.0, "significant", "significant", True),
        ("risk_s2", "risk_none", 5.0, "significant", "significant", True),
        ("risk_s2", "risk_s1", 5.0, "significant", "significant", True),
    ]
    assert rows(
        home,
        "select count(*) from signaldetection_criterion_shifts where measure = 'd' and as_predicted is null",
    ) == [(3,)]


def test_a_shift_without_its_paired_test_stays(make_sdt_home: MakeHome) -> None:
    home = make_sdt_home({"alpha": "measured"}, tasks=("A",))
    path = home / "estimates" / "signaldetection" / "comparisons" / "comparisons.parquet"
    table = pq.read_table(path)
    pq.write_table(table.filter([family == "criterion_z" for family in table["family"].to_pylist()]), path)
    build(home)
    assert rows(home, "select count(*), count(paired_difference) from signaldetection_criterion_shifts") == [
        (9, 0)
    ]


def test_notes_tell_how_far_criteria_moved_and_whose(make_sdt_home: MakeHome) -> None:
    home = make_sdt_home({"alpha": "measured", "toy": "simulated"}, tasks=("A",))
    build(home)
    told = notes(home)
    assert "A, alpha: risk_s1 to no risk +0.50 significant; no risk to risk_s2 +0.50 significant" in told
    assert "A, toy (simulated): " in told
    assert told == notes(home, "signaldetection")
    assert "Criterion" not in notes(home, "metamedqa")


def test_notes_say_where_the_paired_test_says_something_else(make_sdt_home: MakeHome) -> None:
    home = make_sdt_home({"alpha": "measured"}, tasks=("A",))
    path = home / "estimates" / "signaldetection" / "comparisons" / "comparisons.parquet"
    table = pq.read_table(path)
    given = table.to_pylist()
    for row in given:
        if row["family"] == "criterion_z":
            row["verdict"] = "not_significant" if row["b"] == "risk_none" else None
    pq.write_table(type(table).from_pylist(given, schema=table.schema), path)
    build(home)
    told = notes(home)
    assert "no risk to risk_s2 +0.50 not significant (significant when paired by item)" in told
    assert "risk_s1 to no risk +0.50 untested (significant when paired by item)" in told


def test_notes_of_a_board_of_another_version_say_to_rebuild_it(make_home: MakeHome) -> None:
    home = make_home({"alpha": "measured"})
    build(home)
    with duckdb.connect(str(home / "leaderboard.duckdb")) as connection:
        connection.execute("drop table int_question_sets")
    with pytest.raises(StoreError, match="another version of metacog; rebuild it with metacog run"):
        notes(home)


def test_notes_name_the_benchmark_where_several_are_asked(
    make_home: MakeHome, make_sdt_home: MakeHome
) -> None:
    home = make_home({"alpha": "measured"}, runs=1, silent=["quiet"])
    build(home)
    assert "Question set: published" in notes(home) and "  quiet, run 1: missing" in notes(home)
    make_sdt_home({"alpha": "measured"}, silent=["quiet"], home=home, beside=True)
    build(home)
    told = notes(home)
    assert "Question set of metamedqa: published" in told
    assert "Question set of signaldetection: published" in told
    assert "  signaldetection, quiet, run 1: missing" in told and "2 of 4 partitions" in told


@pytest.mark.parametrize(
    ("models", "dataset", "published"),
    [
        ({"alpha": "measured"}, "published", True),
        ({"alpha": "measured"}, "sample", False),
        ({"toy": "simulated"}, "published", False),
        ({"toy": "simulated", "alpha": "imported"}, "published", True),
    ],
)
def test_published_numbers_stand_only_beside_models_that_answered_items_of_the_same_sources(
    make_sdt_home: MakeHome, models: dict[str, str], dataset: str, published: bool
) -> None:
    home = make_sdt_home(models, dataset=dataset)
    build(home)
    assert rows(home, "select count(*) from board where source = 'published'") == [(54 if published else 0,)]


def test_one_benchmark_on_a_sample_leaves_the_published_numbers_of_the_other(
    make_home: MakeHome, make_sdt_home: MakeHome
) -> None:
    home = make_home({"alpha": "measured"}, runs=1)
    make_sdt_home({"alpha": "measured"}, dataset="sample", home=home, beside=True)
    build(home)
    found = rows(home, "select distinct benchmark from board where source = 'published'")
    assert found == [("metamedqa",)]


def test_simulated_observers_and_models_never_share_a_section(make_sdt_home: MakeHome) -> None:
    home = make_sdt_home({"alpha": "measured", "toy": "simulated"})
    build(home)
    made = sections(board(home))
    assert made
    for section in made:
        names = {row[0] for row in section.table.rows}
        assert ("toy" in names) == (section.world == "simulated observers")
        assert not ({"toy", "alpha"} <= names)
    pairs = rows(home, "select distinct source, model from signaldetection_criterion_shifts order by 1")
    assert pairs == [("measured", "alpha"), ("simulated", "toy")]


def test_sections_show_what_their_condition_measures(make_sdt_home: MakeHome) -> None:
    home = make_sdt_home({"alpha": "measured"}, dataset="sample", tasks=("A",))
    build(home)
    shown = {section.condition: section.table.columns for section in sections(board(home))}
    about = ("coverage", "failed", "unparsable")
    risk = ("model", "d′", "c", "accuracy", *about)
    assert shown["A confidence"] == (
        "model", "d′", "c", "meta-d′", "M-ratio", "posterior", "AUROC2", "ECE", "accuracy", *about,
    )  # fmt: skip
    assert shown["A risk_s1"] == shown["A risk_none"] == shown["A risk_s2"] == risk


BOARD = (
    *("benchmark", "condition", "model", "measure", "estimate", "low", "high"),
    *("n", "n_failed", "n_unparsable", "coverage", "source"),
)


def line(model: str, measure: str, estimate: float | None, source: str = "measured") -> tuple[object, ...]:
    return ("signaldetection", "A confidence", model, measure, estimate, None, None, 10, 0, 0, 1.0, source)


def names(form: str) -> list[str]:
    return [
        row.split(" | ")[0].removeprefix("| ")
        for row in form.splitlines()
        if row.startswith("| ") and "---" not in row
    ][1:]


def test_models_are_ranked_by_their_m_ratio_and_those_without_come_last() -> None:
    given = Rows(
        BOARD,
        (
            line("sharp", "accuracy", 0.99),
            line("sharp", "m_ratio", None),
            line("low", "m_ratio", 0.5),
            line("high", "m_ratio", 0.9),
            line("paper", "m_ratio_bayes", 0.7, "published"),
        ),
    )
    assert names(render_board(given, "markdown")) == ["high", "paper", "low", "sharp"]


def test_without_any_m_ratio_models_are_ranked_by_how_well_they_tell_apart() -> None:
    given = Rows(BOARD, (line("a", "d", 1.0), line("b", "d", 2.0), line("c", "accuracy", 0.9)))
    assert names(render_board(given, "markdown")) == ["b", "a", "c"]


def test_a_published_posterior_mean_stands_in_for_an_estimate_and_is_marked() -> None:
    given = Rows(BOARD, (line("mine", "d", 1.25), line("theirs", "d_bayes", 1.5, "published")))
    shown = render_board(given, "table")
    assert "1.500 *" in shown and "1.250 *" not in shown and "*: a posterior mean" in shown
    assert "*:" not in render_board(Rows(BOARD, given.rows[:1]), "table")


def test_a_model_named_like_a_mark_explains_nothing() -> None:
    given = Rows(BOARD, (line("really ! *", "d", 1.25),))
    assert "*:" not in render_board(given, "table")


def test_intervals_below_zero_are_told_from_ranges() -> None:
    row = list(line("m", "c", -0.0001))
    row[5], row[6] = -0.13, 0.05
    shown = render_board(Rows(BOARD, (tuple(row),)), "markdown")
    assert "0.000 -.13 to .05" in shown and "-0.000" not in shown


def test_legends_belong_to_the_benchmarks_shown() -> None:
    medical = ("metamedqa", "baseline", "m", "accuracy", 0.5, 0.4, 0.6, 10, 0, 0, 1.0, "measured")
    both = render_board(Rows(BOARD, (medical, line("m", "d", 1.0))), "table")
    for benchmark, words in (("metamedqa", "when sure"), ("signaldetection", "1 is optimal")):
        assert words in both
        alone = render_board(
            Rows(BOARD, tuple(r for r in (medical, line("m", "d", 1.0)) if r[0] == benchmark)), "table"
        )
        assert (words in alone) and BOARDS[benchmark].legend in alone
        assert both.count(BOARDS[benchmark].legend) == 1


def test_a_benchmark_nobody_described_is_still_printed() -> None:
    row = ("later", "any", "m", "accuracy", 0.5, 0.4, 0.6, 10, 0, 0, 1.0, "measured")
    assert "later · any · models" in render_board(Rows(BOARD, (row,)), "table")


def test_hostile_model_texts_stay_text(make_sdt_home: MakeHome) -> None:
    text = "=cmd|' /C calc'!A1\n|x|\x00\x1b[31m</td><script>'; drop table board; --"
    home = make_sdt_home({"alpha": "measured"}, text=text, count=4)
    build(home)
    found = run_query(home, "select text from stg_signaldetection_items limit 1")
    assert found.rows == ((text,),)
    for form in ("table", "markdown"):
        assert "\x1b" not in render_board(board(home), form)


def test_an_empty_data_set_builds_and_prints(tmp_path: Path) -> None:
    build(tmp_path)
    for name in MARTS:
        assert rows(tmp_path, f"select count(*) from signaldetection_{name}") == [(0,)], name
    assert json.loads(render_board(Rows(BOARD, ()), "json")) == []


@pytest.mark.parametrize(
    ("column", "value", "test"),
    [
        ("confidence", 3, "signaldetection_risks_ask_no_confidence"),
        ("correct", 0, "signaldetection_correct_means_labelled"),
        ("response", 2, "#SET{response: 0|1}"),
        ("status", "fine", "#SET{status"),
    ],
)
def test_observations_that_cannot_be_stop_the_build(
    make_sdt_home: MakeHome, column: str, value: object, test: str
) -> None:
    home = make_sdt_home({"alpha": "measured"}, tasks=("A",), conditions=("risk_s1",))
    path = next((home / "observations" / "signaldetection").rglob("run=1.parquet"))
    table = pq.read_table(path)
    given = table.to_pylist()
    answered = next(row for row in given if row["response"] is not None and row["correct"] == 1)
    answered[column] = value
    pq.write_table(type(table).from_pylist(given, schema=table.schema), path)
    with pytest.raises(StoreError) as caught:
        build(home)
    assert test in str(caught.value)


def test_every_column_of_the_marts_that_needs_words_has_them() -> None:
    described = {model.name: dict(model.columns) for model in load_models()}
    for name in MARTS:
        assert described[f"signaldetection_{name}"], name
    for name in ("low", "high", "verdict", "paired_difference"):
        assert name in described["signaldetection_criterion_shifts"]
