"""Tier-3 fields: the right object, the few repairs, the types, the 60 % rule."""

from metacog_pipeline.benchmarks.metacogbench.parsing.json_objects import objects
from tests.metacogbench.labelled import fields_in
from tests.tables import every

FIELDS = [{"name": f"f{i}", "type": "int", "value": i, "core": i == 1} for i in range(1, 6)]


@every(("right", "of", "passes"), [(2, 2, 1), (2, 3, 1), (2, 4, 0), (3, 4, 1), (3, 5, 1), (2, 5, 0)])
def test_sixty_per_cent_in_whole_numbers(right, of, passes):
    reply = "{" + ", ".join(f'"f{i}": {i if i <= right else 0}' for i in range(1, of + 1)) + "}"
    assert fields_in(reply, FIELDS[:of]).passed is bool(passes)


@every(
    ("number", "value"),
    [
        (".25", 0.25),
        ("5.", 5.0),
        ("+12", 12),
        ("1_200", 1200),
        ("-.5", -0.5),
        ("+.5e3", 500.0),
        ("-3", -3),
        ("(.5, +1)", [0.5, 1]),
    ],
)  # fmt: skip
def test_numbers_of_python_are_repaired(number, value):
    (found,) = objects(f"{{'a': {number}, 'text': '{number}'}}")
    assert found.value == {"a": value, "text": number}


@every("number", ["1__2", "007", "1..2", "+-2", "3 .5", "_1", "1_"])
def test_what_is_no_number_of_python_is_not_repaired(number):
    assert objects(f"{{'a': {number}}}") == ()


def test_most_expected_keys_then_the_last():
    assert fields_in('{"f1": 1, "f2": 2} {"f1": 9}', FIELDS).n_ok == 2
    assert fields_in('{"f1": 9} {"f1": 1}', FIELDS).core_ok


@every("reply", ['{"f1": 1', '{"f1": 1 "f2": 2}', "f1: 1", "", '{"g": 1}'])
def test_nothing_is_guessed(reply):
    found = fields_in(reply, FIELDS)
    assert (found.found, found.n_ok) == (False, 0)


@every(
    "reply",
    [
        '{"f1": 1,}',
        "{'f1': 1}",
        '{"f1": 1 /* one */}',
        '{"f1": 1} // one',
        "{“f1”: 1}",
        '{"f1": "1"}',
        '{"F1": 1.0}',
        'x {not json} {"f1": 1}',
        '{"a": [{"f1": 1}]}',
        '```json\n{"f1": 1}\n```',
        '{"note": "{", "f1": 1}',
    ],
)
def test_repairs_and_wrappers(reply):
    assert fields_in(reply, FIELDS[:1]).passed


@every(
    ("kind", "value", "said", "right"),
    [
        ("float", 1.0, "true", 0),
        ("bool", True, "1", 0),
        ("bool", True, '"yes"', 1),
        ("int", 3, "3.5", 0),
        ("float", 2.5, '"2,5"', 1),
        ("float", 2.5, "NaN", 0),
        ("list", ["a", "b"], '"A, B"', 1),
        ("list", ["a", "b"], '["b", "a"]', 0),
        ("set", ["a", "b"], '["B", "a", "a"]', 1),
        ("string", "Ana", '" ana. "', 1),
        ("int", 3, "null", 0),
        ("int", 3, '"3 km"', 0),
    ],
)
def test_types(kind, value, said, right):
    assert fields_in(f'{{"x": {said}}}', [{"name": "x", "type": kind, "value": value}]).n_ok == right


def test_units_tolerances_and_edges():
    assert fields_in('{"x": "3 km"}', [{"name": "x", "type": "int", "value": 3, "unit": "km"}]).passed
    assert fields_in('{"x": 10.1}', [{"name": "x", "type": "float", "value": 10, "abs_tol": 0.1}]).passed
    assert fields_in('{"x": ["B-A"]}', [{"name": "x", "type": "set", "value": ["A-B"], "edges": True}]).passed
