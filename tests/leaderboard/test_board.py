from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest

from metacog_pipeline.leaderboard import board, build, render, render_board, run_query

MakeHome = Callable[..., Path]


def rows(home: Path, sql: str) -> list[tuple[object, ...]]:
    return list(run_query(home, sql).rows)


def test_imported_answers_count_as_measured(make_home: MakeHome) -> None:
    home = make_home({"alpha": "measured", "beta": "imported"})
    build(home)
    found = rows(home, "select distinct model, source from board where source <> 'published' order by 1")
    assert found == [("alpha", "measured"), ("beta", "measured")]


def test_a_retired_model_drops_off_every_board_and_its_data_stays(make_home: MakeHome) -> None:
    home = make_home({"alpha": "measured"}, retired=["old"])
    build(home)
    for table in ("board", "board_runs", "metamedqa_estimates", "metamedqa_confidence", "metamedqa_choices"):
        assert rows(home, f"select count(*) from {table} where model = 'old'") == [(0,)], table
    assert rows(home, "select count(*) > 0 from stg_metamedqa_observations where model = 'old'") == [(True,)]
    assert rows(home, "select listed, cost_usd > 0 from cost where model = 'old'") == [(False, True)]


def test_a_failing_model_and_a_silent_one_are_named_and_block_nobody(make_home: MakeHome) -> None:
    home = make_home({"alpha": "measured"}, failing=["broken"], silent=["quiet"])
    build(home)
    found = rows(
        home,
        "select model, estimate, coverage, n_failed from board where measure = 'coverage' and model <> 'alpha' order by 1",
    )
    assert found == [("broken", 0.0, 0.0, 48), ("quiet", 0.0, 0.0, 0)]
    assert rows(home, "select count(*) from board where model = 'alpha' and estimate > 0") == [(2,)]
    messages = rows(home, "select distinct state, message from board_partitions where model = 'broken'")
    assert messages == [("failed", "the provider refuses the key")]
    shown = render_board(board(home), "table")
    assert "broken" in shown and "quiet" in shown


def test_a_listed_model_without_anything_is_named_before_anything_was_ever_asked(make_home: MakeHome) -> None:
    home = make_home({}, silent=["quiet"])
    build(home)
    assert rows(
        home, "select benchmark, condition, measure, estimate, source from board where model = 'quiet'"
    ) == [("metamedqa", "baseline", "coverage", 0.0, "measured")]


def test_numbers_of_another_question_set_are_stale(make_home: MakeHome) -> None:
    home = make_home({"alpha": "measured", "beta": "measured"}, dataset="sample")
    make_home({"alpha": "measured"}, dataset="published", home=home)
    build(home)
    assert rows(home, "select distinct dataset from metamedqa_estimates") == [("published",)]
    assert rows(home, "select distinct dataset from metamedqa_choices") == [("published",)]


@pytest.mark.parametrize(
    ("models", "dataset", "published"),
    [
        ({"alpha": "measured"}, "published", True),
        ({"alpha": "measured"}, "sample", False),
        ({"alpha": "measured"}, "corrected", False),
        ({"toy": "simulated"}, "published", False),
        ({"toy": "simulated", "alpha": "imported"}, "published", True),
    ],
)
def test_published_numbers_stand_only_beside_models_that_answered_the_same_questions(
    make_home: MakeHome, models: dict[str, str], dataset: str, published: bool
) -> None:
    home = make_home(models, dataset=dataset)
    build(home)
    assert rows(home, "select count(*) > 0 from board where source = 'published'") == [(published,)]
    assert rows(home, "select count(*) > 50 from published_metamedqa") == [(True,)]


def test_a_reduced_number_of_runs_leaves_the_later_ones_out(make_home: MakeHome) -> None:
    home = make_home({"alpha": "measured"}, runs=3)
    make_home({"alpha": "measured"}, runs=1, home=home)
    build(home)
    assert rows(home, "select max(run) from board_runs") == [(1,)]
    assert rows(home, "select sum(n) from int_metamedqa_cells") == [(24,)]


def test_confidence_levels_carry_wilson_intervals_and_unused_levels_none(make_home: MakeHome) -> None:
    home = make_home({"alpha": "measured"}, runs=1, count=3)
    build(home)
    found = rows(
        home, "select n, n_correct, accuracy, low, high, share, gap, claimed from metamedqa_confidence"
    )
    assert len(found) == 5
    assert any(row[0] == 0 for row in found) and any(row[0] != 0 for row in found)
    z = 1.959963984540054
    for n, k, accuracy, low, high, _, gap, claimed in found:
        assert isinstance(n, int) and isinstance(k, int) and isinstance(claimed, float)
        if n == 0:
            assert (accuracy, low, high, gap) == (None, None, None, None)
            continue
        p = k / n
        centre, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        assert accuracy == pytest.approx(p) and gap == pytest.approx(p - claimed)
        assert low == pytest.approx((centre - half) / (1 + z * z / n), abs=1e-12)
        assert high == pytest.approx((centre + half) / (1 + z * z / n), abs=1e-12)


def test_choices_add_up_and_count_items_without_a_letter(make_home: MakeHome) -> None:
    home = make_home({"alpha": "measured"}, runs=1, count=60)
    build(home)
    [(chosen, keyed, items, answered)] = rows(
        home,
        "select sum(n_chosen), sum(n_keyed), any_value(n_items), "
        "(select count(answer) from stg_metamedqa_observations) from metamedqa_choices",
    )
    assert keyed == items == 60
    assert chosen == answered != items


def test_choices_flag_a_model_that_overuses_e(make_home: MakeHome) -> None:
    home = make_home({"alpha": "measured"}, runs=1)
    build(home)
    for letter, n, items, flag in rows(
        home, "select letter, n_chosen, n_items, overused from metamedqa_choices"
    ):
        assert isinstance(n, int) and isinstance(items, int)
        assert flag is (letter == "E" and n / items >= 0.2)


def test_kinds_add_up_to_the_items(make_home: MakeHome) -> None:
    home = make_home({"alpha": "measured"}, runs=2, count=24)
    build(home)
    assert rows(home, "select sum(n) from metamedqa_kinds") == [(48,)]
    assert rows(home, "select key_group, sum(n) from metamedqa_kinds group by 1 order by 1") == [
        ("A-D", 32),
        ("E", 8),
        ("F", 8),
    ]


def test_items_are_listed_with_how_they_were_answered(make_home: MakeHome) -> None:
    home = make_home()
    build(home)
    assert rows(home, "select count(*), min(n), max(n_models) from int_metamedqa_items") == [(24, 4, 2)]


def test_cost_counts_what_was_paid(make_home: MakeHome) -> None:
    home = make_home({"alpha": "measured"}, runs=2, count=10)
    build(home)
    [(calls, answers, failed, dollars, tokens, unpriced)] = rows(
        home, "select calls, answers, failed, cost_usd, input_tokens, unpriced from cost"
    )
    assert (calls, answers, failed, tokens, unpriced) == (20, 20, 0, 2000, 0)
    assert dollars == pytest.approx(0.02)


def test_hostile_answers_stay_text_in_every_format(make_home: MakeHome) -> None:
    text = "=cmd|' /C calc'!A1\n|x|\x00\x1b[31m</td><script>'; drop table board; --"
    home = make_home({"alpha": "measured"}, runs=1, count=2, text=text)
    build(home)
    found = run_query(home, "select text from 'transcripts/**/*.parquet' limit 1")
    assert found.rows == ((text,),)
    assert json.loads(render(found, "json")) == [{"text": text}]
    cell = next(csv.DictReader(io.StringIO(render(found, "csv"), newline="")))["text"]
    assert cell == f"'{text}"
    assert "\x1b" not in render(found, "table") + render(found, "markdown")
    assert "<script>" not in render(found, "markdown")


def test_rebuilding_changes_nothing(make_home: MakeHome) -> None:
    home = make_home(conditions=("baseline", "role"))
    build(home)
    before = run_query(home, "from board").rows
    build(home)
    assert run_query(home, "from board").rows == before
