"""Rules of reading beside ours: the published ones, literally, and stricter ones."""

from metacog_pipeline.benchmarks.selfknowledge.read import matches
from metacog_pipeline.benchmarks.selfknowledge.rules import RULES
from tests.tables import every

EVERY = ("entities", *RULES)


@every(
    ("output", "answers", "right"),
    [
        ("Iranian", ["Iran"], "inclusion normalized_inclusion"),
        ("10", ["1"], "inclusion normalized_inclusion"),
        ("STRASSE", ["straße"], "token_boundary entities"),
        ("The Nile.", ["nile"], "inclusion normalized_inclusion exact_match token_boundary entities"),
        ("It is the Nile", ["Nile"], "inclusion normalized_inclusion token_boundary entities"),
        ("Nile", ["The Nile"], "normalized_inclusion exact_match token_boundary entities"),
        ("USA", ["U.S.A."], "normalized_inclusion exact_match token_boundary entities"),
        ("J. R. R. Tolkien", ["J.R.R. Tolkien"], "token_boundary entities"),
        ("Jean Paul Sartre", ["Jean-Paul Sartre"], "token_boundary entities"),
        ("3.5 km", ["35"], "normalized_inclusion"),
        ("São Paulo", ["Sao Paulo"], "token_boundary entities"),
        ("Henry VIII", ["Henry V"], "inclusion normalized_inclusion"),
        ("not the Nile", ["Nile"], "inclusion normalized_inclusion token_boundary"),
        ("答案是北京。", ["北京"], "inclusion normalized_inclusion token_boundary entities"),
        ("서울입니다", ["서울"], "inclusion normalized_inclusion token_boundary entities"),
        ("신서울", ["서울"], "inclusion normalized_inclusion"),
        ("anything", [""], "inclusion"),
        ("", [""], "inclusion"),
        ("anything", [], ""),
        ("<think>Nile</think>Po", ["Nile"], ""),
    ],
)
def test_each_rule_matches_what_it_should(output, answers, right):
    assert {name for name in EVERY if matches(output, answers, name)} == set(right.split())
