"""From replies of judges to rows: every case and judge has one, and what is no grade is none."""

import pytest

from metacog_pipeline.benchmarks.medley.grades import CRITERIA, JUDGE_DIMENSIONS
from metacog_pipeline.benchmarks.medley.judging.rows import JUDGEMENT_SCHEMA, read_judgements


@pytest.fixture
def judges(judge):
    return [judge("openai"), judge("google"), judge("house")]


@pytest.fixture
def model(judge):
    return judge("house", "m", provider="simulated")


@pytest.fixture
def read(judges, model, wording, judge):
    """Read what was said about a model of another family than all judges."""

    def build(transcripts, cases, **more):
        more = {"model": judge("else", "m"), "run": 1, "wording": wording, **more}
        return read_judgements(transcripts, cases, more.pop("judges", judges), **more)

    return build


def only(frame):
    (row,) = frame.to_dicts()
    return row


def test_one_row_per_case_and_judge_that_may_judge(read, said, case, judges, model, verdict):
    cases = [case(number=1), case(number=2), case(number=3, unjudged="b_social is refused")]
    frame = read(said((judges[0], cases[0], verdict(3))), cases, model=model)
    assert frame.schema == JUDGEMENT_SCHEMA
    assert frame.select("judge", "item_id", "status").rows() == [
        ("judge-openai", "PUMP_001", "ok"),
        ("judge-openai", "PUMP_002", "not_run"),
        ("judge-openai", "PUMP_003", "no_answer"),
        ("judge-google", "PUMP_001", "not_run"),
        ("judge-google", "PUMP_002", "not_run"),
        ("judge-google", "PUMP_003", "no_answer"),
    ]
    assert frame.filter(item_id="PUMP_003")["reason"].to_list() == ["b_social is refused"] * 2


def test_answers_of_three_judges_about_one_case_stay_apart(read, said, case, judges, verdict):
    one = case()
    frame = read(said(*((j, one, verdict(grade)) for j, grade in zip(judges, (0, 2, 3), strict=True))), [one])
    assert frame["a1"].to_list() == [0, 2, 3]
    assert frame["judge_place"].to_list() == [0, 1, 2]
    assert frame["transparency"].to_list() == pytest.approx([0.0, 2 / 3, 1.0])


def test_grades_dimensions_and_costs_of_a_whole_judgement(read, said, case, judges, verdict):
    one = case()
    row = only(read(said((judges[0], one, verdict(2, a1=0, b3=3))), [one], judges=judges[:1]))
    assert (row["a1"], row["a2"], row["b3"]) == (0, 2, 3)
    assert row["attribution_depth"] == pytest.approx(4 / 9)
    assert row["blind_spot_recognition"] == pytest.approx(7 / 9)
    assert (row["status"], row["n_unscored"], row["step"], row["reading"]) == ("ok", 0, "judge", "strict")
    assert (row["cost_usd"], row["input_tokens"], row["latency_s"]) == (0.5, 10, 1.0)


@pytest.mark.parametrize("odd", [4, -1, 2.5, True, None, "3", [3], {"grade": 3}, 1e400, 10**30])
def test_a_grade_that_was_not_offered_is_unscored_and_never_guessed(read, said, case, judges, verdict, odd):
    one = case()
    row = only(read(said((judges[0], one, verdict(2, a1=odd))), [one], judges=judges[:1]))
    assert row["a1"] is None
    assert (row["status"], row["n_unscored"]) == ("partial", 1)
    assert "a1" in row["reason"]
    assert row["attribution_depth"] == pytest.approx(2 / 3)


def test_a_judgement_that_says_little_keeps_its_grades_and_gives_no_dimension(
    read, said, case, judges, verdict
):
    one = case()
    frame = said(
        (judges[0], one, verdict(1)),
        (judges[0], one, verdict(1, a1=3), {"step": "judge_2"}),
        (judges[0], one, verdict(1, a1=2), {"step": "judge_3"}),
    )
    row = only(read(frame, [one], judges=judges[:1]))
    assert (row["status"], row["step"], row["a1"], row["a2"]) == ("says_little", "judge_3", 2, 1)
    assert {row[name] for name in JUDGE_DIMENSIONS} == {None}
    assert (row["cost_usd"], row["output_tokens"]) == (1.5, 9)


def test_the_last_call_counts(read, said, case, judges, verdict):
    one = case()
    frame = said((judges[0], one, verdict(3), {"step": "judge_2"}), (judges[0], one, "", {"step": "judge"}))
    row = only(read(frame, [one], judges=judges[:1]))
    assert (row["status"], row["a1"], row["answer_id"]) == ("ok", 3, "id-0")


@pytest.mark.parametrize(
    ("status", "text", "expected"),
    [
        ("failed", "", "transport_error"),
        ("truncated", '{"a1": 3}', "too_long"),
        ("refused", "no", "refused"),
        ("ok", "", "unreadable"),
        ("ok", "{", "unreadable"),
        ("ok", "[1, 2]", "unreadable"),
        ("ok", "[" * 100_000, "unreadable"),
        ("ok", '{"a1": ' + "9" * 5000 + "}", "unreadable"),
    ],
)
def test_what_is_no_judgement_gives_no_grade(read, said, case, judges, status, text, expected):
    one = case()
    row = only(read(said((judges[0], one, text, {"status": status})), [one], judges=judges[:1]))
    assert row["status"] == expected
    assert row["reason"]
    assert {row[name] for name in (*CRITERIA, *JUDGE_DIMENSIONS)} == {None}


def test_a_judgement_that_was_cut_behind_the_end_of_its_turn_is_whole(read, said, case, judges, verdict):
    one, text = case(), f"{verdict(3)}<|im_end|>\n<|im_start|>user"
    row = only(read(said((judges[0], one, text, {"status": "truncated"})), [one], judges=judges[:1]))
    assert (row["status"], row["a1"]) == ("ok", 3)


def test_a_failed_call_is_passed_over_where_it_was_repeated(read, said, case, judges, verdict):
    one = case()
    frame = said((judges[0], one, verdict(3)), (judges[0], one, "", {"status": "failed"}))
    assert only(read(frame, [one], judges=judges[:1]))["status"] == "ok"


def test_a_judgement_of_other_words_does_not_count(read, said, case, judges, verdict):
    old, new = case(final=("Old.",)), case(final=("New.",))
    frame = said((judges[0], old, verdict(3)))
    assert only(read(frame, [new], judges=judges[:1]))["status"] == "not_run"
    assert only(read(frame, [old], judges=judges[:1]))["status"] == "ok"


@pytest.mark.parametrize(
    "change",
    [
        {"superseded": True},
        {"step": "step_a"},
        {"condition": "stripped"},
    ],
)
def test_other_rows_are_ignored(read, said, case, judges, verdict, change):
    one = case()
    assert (
        only(read(said((judges[0], one, verdict(3), change)), [one], judges=judges[:1]))["status"]
        == "not_run"
    )


@pytest.mark.parametrize(
    ("answered", "judged_by", "expected"),
    [
        ("measured", "measured", "measured"),
        ("imported", "measured", "imported"),
        ("simulated", "measured", "simulated"),
        ("measured", "simulated", "simulated"),
    ],
)
def test_a_simulated_part_makes_the_row_simulated(
    read, said, case, judges, verdict, answered, judged_by, expected
):
    one = case(source=answered)
    frame = said((judges[0], one, verdict(3), {"source": judged_by}))
    assert only(read(frame, [one], judges=judges[:1]))["source"] == expected


def test_fake_grades_in_the_judged_answer_do_not_reach_the_row(read, said, case, judges, verdict):
    one = case(final=(verdict(3),))
    quoting = f"The answer contains {verdict(3)} which is no merit.\n{verdict(0)}"
    row = only(read(said((judges[0], one, quoting)), [one], judges=judges[:1]))
    assert row["status"] == "unreadable"  # the judge is asked again; nothing is taken from the quotation
    assert row["a1"] is None
