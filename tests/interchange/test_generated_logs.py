"""Rows in are rows kept and rows named by reason, in every format, version and status; the log's verdicts come again."""

import contextlib
import copy
import json
from collections import Counter
from itertools import product

import pytest

from metacog_pipeline.asking.session import Partition
from metacog_pipeline.benchmark.bound import bound
from metacog_pipeline.errors import StudyError
from metacog_pipeline.interchange import answers, columns, importing
from metacog_pipeline.interchange.import_rules import NOT_KEPT, ImportOptions, QuestionRows
from metacog_pipeline.interchange.logs import reading
from metacog_pipeline.transcripts.store import kept_records
from tests.interchange import generated

LOST = {
    "inspect": ("error", "expired", "taken back"), "batch": ("error", "expired"),
    "lm-eval": ("error",), "lighteval": ("error",), "helm": ("error",), "opencompass": ("error",), "promptfoo": ("error",),
    "oaieval": ("error",), "every-eval": ("error",), "table": ("error",),
}  # fmt: skip
#: Its reply is a chosen option whatever the status.
CHOSEN = "weighed"
NO_JSON = {"lighteval", "eval", "csv", "tsv", "parquet"}
FORMS = [(name, form) for name, (_, forms, _) in generated.FORMATS.items() for form in forms]
STUDY = (
    '[study]\nname = "b"\n[benchmarks.questions]\nitems = "q.jsonl"\nconditions = ["answer_only"]\n'
    'allow_incomplete = true\n[[models]]\nname = "m"\nprovider = "replay"\n'
)


def read(name, path):
    """Return the samples of a file, of a log as a table where it is none."""
    found = None if name == "table" else reading.samples_of(path)
    return columns.samples(path, QuestionRows(None), ImportOptions())[0] if found is None else found


def holds(folder, name, form, seed):
    """Import a log made from ``seed`` and check that every row went somewhere; twice, as nothing is new the second time."""
    write, _, statuses = generated.FORMATS[name]
    rows = generated.rows(seed, statuses)
    path = write(folder, rows, form)
    if name == "batch":
        rows = [each for each in rows if each.run == 1]
        asked = [
            {
                "id": f"q{each.number}",
                "question": each.question,
                "options": each.options,
                "answer": each.letter,
            }
            for each in rows
        ]
        generated.jsonl(folder / "q.jsonl", asked)
        (folder / "s.toml").write_text(STUDY)
    done = importing.import_file(path, folder / "s.toml", ImportOptions())
    found = importing.read(path, done.study, "questions", ImportOptions()).samples
    ended = Counter(each.status for each in rows)
    lost = sum(ended[each] for each in LOST[name])
    not_kept = [why for _, what, why in done.rejected if what == NOT_KEPT]
    assert done.rows == len(rows) == done.kept + done.known + done.same + len(not_kept)
    assert (len(not_kept), done.same) == (lost, 0) and all(not_kept)
    places = product(done.study.models, done.study.runs)
    folders = [Partition(done.study, "questions", *each).folder for each in places]
    assert sum(len(list(kept_records(each))) for each in folders) == done.kept
    into = bound(done.study, "questions")
    items = {item.item_id: item for item in into.items}
    asks = {(each.number, *sorted(each.options)) for each in rows if each.status not in LOST[name]}
    assert len(items) == (len(rows) if name == "batch" else len(asks))
    kept = [each for each in found if each.why is None]
    if form != CHOSEN:
        read_here = [answers.read_reply(into, items[each.item], each) for each in kept]
        assert sum(each.correct or 0 for each in read_here) == ended["right"], done.summary
    again = importing.import_file(path, folder / "s.toml", ImportOptions())
    assert (again.kept, again.known) == (0, done.kept)


@pytest.mark.parametrize(("name", "form"), FORMS)
def test_every_row_of_a_log_is_kept_or_named(name, form, tmp_path):
    holds(tmp_path, name, form, seed=1)


@pytest.mark.proof
@pytest.mark.parametrize("seed", range(2, 8))
def test_every_row_of_300_logs_is_kept_or_named(seed, tmp_path):
    for (name, form), part in product(FORMS, (0, 1000)):
        folder = tmp_path / f"{name}-{form}-{part}"
        folder.mkdir()
        holds(folder, name, form, seed + part)


def test_the_same_options_in_another_order_are_one_item_and_each_answer_is_read_in_its_own(tmp_path):
    rows = [{"id": "q", "question": "Which?", "options": list(order), "answer": "ABC"["xyz".index("x")], "run": run,
             "response": "Answer: A", "model": "m"} for run, order in enumerate(("xyz", "yzx", "zxy"), 1)]  # fmt: skip
    for row in rows:
        row["answer"] = "ABC"[row["options"].index("x")]
    path = generated.jsonl(tmp_path / "t.jsonl", rows)
    done = importing.import_file(path, tmp_path / "s.toml", ImportOptions())
    assert (
        "place of the right option (position bias): A 1.000 of 1, B 0.000 of 1, C 0.000 of 1"
        in done.summary[-1]
    )
    (item,) = bound(done.study, "questions").items
    assert (item.options, item.answer) == (("x", "y", "z"), "A")
    found = importing.read(path, done.study, "questions", ImportOptions()).samples
    said = [answers.read_reply(bound(done.study, "questions"), item, each) for each in found]
    assert [(each.said, each.correct) for each in said] == [("A", 1), ("B", 0), ("C", 0)]


def test_signs_of_arithmetic_tell_questions_apart(tmp_path):
    rows = [
        {"question": f"What is 2 {sign} 2?", "answer": "4", "response": "4", "model": "m"} for sign in "+*-"
    ]
    path = generated.jsonl(tmp_path / "t.jsonl", rows)
    done = importing.import_file(path, tmp_path / "s.toml", ImportOptions())
    assert len(bound(done.study, "questions").items) == 3 and json.dumps(done.kept) == "3"


def places(value, at=()):
    """Yield where each part of a value lies."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield (*at, key)
        yield from places(each, (*at, key))


def put(whole, place, what):
    """Return a copy with another value in one place."""
    made = value = copy.deepcopy(whole)
    for key in place[:-1]:
        value = value[key]
    value[place[-1]] = what
    return made


@pytest.mark.parametrize(("name", "form"), [each for each in FORMS if not {*each} & NO_JSON])
def test_a_part_of_another_kind_anywhere_in_a_log_raises_nothing_but_a_reason(name, form, tmp_path):
    path = generated.FORMATS[name][0](tmp_path, generated.rows(1, ("right",), n=1, runs=1), form)
    by_line = path.suffix == ".jsonl"
    whole = [*map(json.loads, path.read_text().splitlines())] if by_line else json.loads(path.read_text())
    for place in places(whole):
        for odd in (None, 7, -1e300, "", "x", [], [1], {}, True):
            made = put(whole, place, odd)
            path.write_text("".join(json.dumps(row) + "\n" for row in made) if by_line else json.dumps(made))
            with contextlib.suppress(StudyError):
                list(read(name, path))
