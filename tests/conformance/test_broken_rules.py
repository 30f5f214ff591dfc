"""A benchmark that breaks the contract is told what and what to do: once for one cause, never in a library's error."""

import importlib

import pytest

from metacog_pipeline.conformance import Broken, check_benchmark
from tests.conformance.packages import found, install

MADE = (
    "made = lambda self, inputs: {rows}\n"
    "    construction = lambda self: (c.Step('items', 'x', shaky.made, writes={of}Item),)"
)
ITEM = "Item(item_id='{name}', dataset='s', position={place}, question='Sum {place}?', answer=1)"
HASHED = "class Item(toy.Item):\n        asked_and_scored_by = lambda self: {by}\n    " + MADE
ONE = f"c.Made(rows=[shaky.{ITEM.format(name='a', place=0)}])"
TWO = f"c.Made(rows=[{ITEM.format(name='a', place=0)}, {ITEM.format(name='a', place=1)}])"
CLOCK = "__import__('time').time_ns()"
PARSED = "parse = lambda self, item, condition, calls: {made}"


def made(rows):
    return MADE.format(rows=rows, of="")


def hashed(by):
    return HASHED.format(by=by, rows=ONE, of="shaky.")


SCORED = "measures = ({}, words='x'),)\n    board = c.Board()"
HEAD = "c.Measure('accuracy', 'a', lambda g: {}, headline=True"
NUMBER = "c.Estimate(0.5, 0.4, 0.6, 7, 'm')"
#: What breaks the toy → what is told of it.
ONE_CAUSE = {
    # before anything is tried
    'name = "My Benchmark"': "shaky.name is 'My Benchmark'; use lower-case letters",
    'name = "metamedqa"': "a benchmark of this package; choose another",
    'trial_settings = {"sums": "many"}': "sums Input should be a valid integer",
    # items
    made("1 / 0"): "shaky: ZeroDivisionError: division by zero (shaky:11, in <lambda>)",
    made("c.Made(rows=[{'item_id': 'a'}])"): "a row is a dict, no Item",
    made("c.Made()"): "shaky: no items; let the last construction step return at least one",
    made(TWO): "shaky: 2 items have the item_id 'a'",
    hashed("{1}"): "Item.asked_and_scored_by() cannot be kept as JSON",
    hashed(CLOCK): "Item.asked_and_scored_by() gives something else each time",
    # asking
    "conditions = lambda self: ()": "shaky: no condition; return at least one from conditions()",
    "async def ask(self, item, condition, chat): raise ValueError('no words')": "no words (shaky:11, in ask)",
    "observer = lambda self, parameters: (lambda request: None)": "expected str instance, NoneType found",
    "observer = lambda self, parameters: exit(1)": "shaky: SystemExit: 1",
    # reading
    PARSED.format(made="toy.Response(said='seven', correct=1, status='ok', reason=None) if calls else toy.Response()"):
        "said is 'seven', its column holds Int64 or None",
    PARSED.format(made="toy.Response(correct=2, status='ok', reason=None) if calls else toy.Response()"):
        "correct is 2, a column named in coded holds 0, 1 or None",
    "parse = lambda self, item, condition, calls: toy.Response(int(calls['answer'].text.split(',')[0]), status='ok')": (
        "shaky.parse: no calls of item sum-0 under asked is unparsable: the reader failed: KeyError: 'answer'; return a "
        "status of transport_error"
    ),
    # scoring
    "derive = lambda self, responses, judgements: responses['nothing']": "shaky: ColumnNotFoundError",
    "derive = lambda self, responses, judgements: responses.head(1)": "shaky.derive returns 1 of 20 responses",
    SCORED.format(HEAD.format("0.5")): "no attribute 'value' (metacog_pipeline.scoring.estimates",
    SCORED.format(HEAD.format("c.Estimate(100.0, None, None, 1, 'percent')")): "is outside its range: 100.0 [",
    SCORED.format(f"{HEAD.format(NUMBER)}, rests_on=(('status', ('no',)),)"):
        "measure accuracy has n 7, and its rests_on names 0 answers",
    SCORED.format(f"{HEAD.format(NUMBER)}, rests_on=(('nothing', None),)"): "ColumnNotFoundError",
}  # fmt: skip


@pytest.mark.parametrize("lines", ONE_CAUSE)
def test_one_cause_is_told_once_with_what_to_do(tmp_path, toy_folder, lines):
    folder = tmp_path / "installed"
    folder.mkdir()
    install(folder, "shaky", f"    {lines}")
    with found(toy_folder, folder), pytest.raises(ExceptionGroup) as told:
        check_benchmark(importlib.import_module("shaky").shaky, tmp_path)
    said = [str(error) for error in told.value.exceptions]
    assert all(isinstance(error, Broken) for error in told.value.exceptions)
    assert any(ONE_CAUSE[lines] in each for each in said) and len(said) <= 2, said
