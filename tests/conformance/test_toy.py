"""A stranger's benchmark passes the checks, and one that breaks a rule is told which and what to do."""

import importlib
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from metacog_pipeline import conformance
from metacog_pipeline.conformance import RULES, check_benchmark
from tests.conformance.packages import found


@pytest.fixture
def toy(toy_folder):
    with found(toy_folder):  # or the registry would list it in every later test of this process
        yield importlib.import_module("sometrivia")


def told(benchmark: type[Any], folder: Path, rules: Sequence[Any] = RULES) -> str:
    """Return what is told of a broken benchmark: by these rules of the contract, and by the gate."""
    with pytest.MonkeyPatch.context() as patch, pytest.raises(ExceptionGroup) as caught:
        patch.setattr(conformance, "RULES", rules)
        check_benchmark(benchmark, folder)
    return "\n".join(str(error) for error in caught.value.exceptions)


def test_the_toy_is_small_and_fulfils_the_contract_and_is_the_example_of_the_documentation(toy, tmp_path):
    text = Path(toy.__file__).read_text("utf-8")
    assert len(text.splitlines()) <= 120
    assert f"```python\n{text}```" in (Path(__file__).parents[2] / "docs" / "own_benchmark.md").read_text(
        "utf-8"
    )
    check_benchmark(toy.SomeTrivia, tmp_path)


def test_a_hash_that_changes_with_the_place_of_an_item_is_found(toy, tmp_path, monkeypatch):
    monkeypatch.setattr(toy.Item, "asked_and_scored_by", lambda item: [item.question, item.position])
    assert "leave it out of asked_and_scored_by" in told(toy.SomeTrivia, tmp_path)


@pytest.mark.parametrize(
    ("questions", "said"),
    [
        ((), "no Question names the family models"),
        ((("Which?", ("other", "accuracy")),), "no Question names the family models"),
        ((("Which?", ("models", "nothing")),), "models of nothing is made by no contrast"),
        ((("Which?", ("models", "accuracy")), ("What?", ("models", "ece"))), "models bears on two questions"),
    ],
)
def test_a_question_without_exactly_one_primary_test_is_told(toy, tmp_path, questions, said):
    def compared(benchmark: Any, groups: Any) -> Any:
        for a, b in combinations(sorted({group.model for group in groups}), 2):
            for measure in ("accuracy", "ece"):
                yield toy.c.Comparison("models", measure, a=a, b=b, value=0.0, p=1.0, n=9)

    class Unsure(toy.SomeTrivia):
        contrasts = (toy.c.Contrast("models", compared, between_models=True),)

    Unsure.questions = tuple(toy.c.Question(*each) for each in questions)
    assert said in told(Unsure, tmp_path)


def choices(text: Any, *, balanced: bool = False) -> Any:
    """Return probes of two options, whose texts say which of them is right."""

    def probes(self: Any) -> Any:
        for n, item in enumerate(self.items):
            options = tuple(text(k == n % 2) for k in (0, 1))
            yield importlib.import_module("sometrivia").c.Probe(
                "choice", item.item_id, options, (n % 2,), balanced=balanced
            )

    return probes


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"probes": lambda self: ()}, "probes() returns nothing"),
        ({"ladders": ()}, "accuracy: no Ladder has it"),
        (
            {
                "probes": choices(
                    lambda right: f"it is {n}, which is certain" if (n := right) else "it is not"
                )
            },
            "option words gets",
        ),
        (
            {"probes": choices(lambda right: f"it is {'so ' * 9 if right else ''}", balanced=True)},
            "longest option gets",
        ),
        ({"ladder": ("accuracy", 0.9, 0.2)}, "accuracy 0.9 and 0.2 give"),
        ({"counted": "answer"}, "lifts it to 1"),
    ],
)
def test_an_instrument_that_measures_something_else_is_told(toy, tmp_path, given, said):
    class Odd(toy.SomeTrivia):
        probes = given.get("probes", toy.SomeTrivia.probes)
        ladders = given.get("ladders", toy.SomeTrivia.ladders)
        if "ladder" in given:
            ladders = (toy.c.Ladder("accuracy", *given["ladder"]),)
        if "counted" in given:
            even = toy.c.Measure("even", "even", toy.share({"answer": 1}), words="x")
            coded, measures = ("correct", "answer"), (*toy.SomeTrivia.measures, even)

            def derive(self, responses: Any, judgements: Any) -> Any:
                return responses.with_columns(answer=(toy.pl.col("said") % 2 == 0).cast(toy.pl.Int8))

    assert said in told(Odd, tmp_path, ())


KIND = {"other": "kind"}


@pytest.mark.parametrize(
    ("rows", "bases", "said"),
    [
        ((), {}, "asked, other: the same replies differ in correct"),
        ((("f", "careful", "hasty", 0.5), ("g", "careful", "hasty", -0.5)), KIND, "f and g say opposite things"),
        ((("whole", "careful", "hasty", 0.5),), KIND, "whole: 1 tests of a model, and none says that an answer"),
    ],
)  # fmt: skip
def test_columns_that_do_not_say_the_same_are_told(toy, tmp_path, rows, bases, said):
    def compared(benchmark: Any, groups: Any) -> Any:
        for family, a, b, value in rows:
            if family != "whole" or all(group.complete for group in groups):
                yield toy.c.Comparison(family, "accuracy", a, b, "sums", value=value, p=1e-6, n=20)

    class Kind(toy.SomeTrivia):
        contrasts = (toy.c.Contrast("f", compared),)
        measures = (
            toy.c.Measure("accuracy", "accuracy", toy.share({"correct": 1}), headline=True, bases=bases),
        )

        def conditions(self) -> Any:
            return toy.c.Condition("asked"), toy.c.Condition("other")

        def parse(self, item: Any, condition: str, calls: Any) -> Any:
            read = super().parse(item, condition, calls)
            read.correct = 1 if condition == "other" else read.correct
            return read

    assert said in told(Kind, tmp_path, ())


def test_what_cannot_be_compared_or_shown_alone_is_refused_when_it_is_declared(toy):
    with pytest.raises(TypeError, match="rises with every yes; declare false_alarms, d, c with it"):
        hits = toy.c.HitRate("false_alarms", "d", "c")
        type("Alone", (toy.SomeTrivia,), {"measures": (toy.c.Measure("hits", "hits", hit_rate=hits),)})
    measure = toy.c.Measure("passed", "passed", bases={"json": "fields"})
    contrast = toy.c.Contrast("formats", tuple, compares=(("passed", "json"), ("passed", "free")))
    with pytest.raises(TypeError, match=r"scored by \['', 'fields'\]; compare"):
        type("Mixed", (toy.SomeTrivia,), {"measures": (measure,), "contrasts": (contrast,)})
