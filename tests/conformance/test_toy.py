"""A stranger's benchmark passes the checks, and one that breaks a rule is told which and what to do."""

import importlib
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from metacog_pipeline import conformance
from metacog_pipeline.conformance import CHECKS, check_benchmark
from tests.conformance.packages import found

IN_A_PROCESS = ("item_hashes_do_not_depend_on_place_or_process",)


@pytest.fixture
def toy(toy_folder):
    with found(toy_folder):  # or the registry would list it in every later test of this process
        yield importlib.import_module("sometrivia")


def broken_rules(benchmark: type[Any], folder: Path, *, elsewhere: bool = False) -> str:
    """Return what is told of a broken benchmark; rules that start a process are held only where that is asked for."""
    rules = [rule for rule in CHECKS if elsewhere or rule.__name__ not in IN_A_PROCESS]
    assert len(rules) == len(CHECKS) - (0 if elsewhere else len(IN_A_PROCESS))
    with pytest.MonkeyPatch.context() as patch, pytest.raises(ExceptionGroup) as caught:
        patch.setattr(conformance, "CHECKS", rules)
        check_benchmark(benchmark, folder)
    return "\n".join(str(error) for error in caught.value.exceptions)


def test_the_toy_is_small_and_fulfils_the_contract(toy, tmp_path):
    assert len(Path(toy.__file__).read_text("utf-8").splitlines()) <= 120
    check_benchmark(toy.SomeTrivia, tmp_path)


def test_the_toy_is_the_example_of_the_documentation(toy):
    page = (Path(__file__).parents[2] / "docs" / "own_benchmark.md").read_text("utf-8")
    assert f"```python\n{Path(toy.__file__).read_text('utf-8')}```" in page


def test_a_reader_that_is_not_total_is_told_the_reply_and_the_way_out(toy, tmp_path):
    class Partial(toy.SomeTrivia):
        def parse(self, item: Any, condition: str, calls: Any) -> Any:
            return toy.Response(int(calls["answer"].text.split(",")[0]), status="ok", reason=None)

    said = broken_rules(Partial, tmp_path)
    assert "Partial.parse raised" in said and "return a Response whose status is one of unreadable" in said


def test_a_hash_that_is_not_stable_is_found(toy, tmp_path, monkeypatch):
    def with_position(item: Any) -> Any:
        return [item.question, item.answer, item.position]

    monkeypatch.setattr(toy.Item, "asked_and_scored_by", with_position)
    assert "leave position" in broken_rules(toy.SomeTrivia, tmp_path, elsewhere=True)


@pytest.mark.parametrize(
    ("questions", "said"),
    [
        ((), "no Question names the family models"),
        ((("Which?", ("other", "accuracy")),), "no Question names the family models"),
        ((("Which?", ("models", "nothing")),), "models of nothing is made by no contrast"),
        ((("Which?", ("models", "accuracy")), ("Which?", ("models", "ece"))), "is there twice"),
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
    assert said in broken_rules(Unsure, tmp_path)


@pytest.mark.parametrize("wrong", ["counts the others", "names none"])
def test_a_contrast_by_model_that_rests_on_others_is_told(toy, tmp_path, wrong):
    def leaning(benchmark: Any, groups: Any) -> Any:
        for group in groups:
            value, model = (len(groups), group.model) if wrong == "counts the others" else (1, None)
            yield toy.c.Comparison("leaning", "accuracy", model=model, value=float(value), n=9)

    class Leaning(toy.SomeTrivia):
        contrasts = (toy.c.Contrast("leaning", leaning, correction=None, by_model=True),)

    assert "contrast leaning gives model" in broken_rules(Leaning, tmp_path)


def test_a_measure_out_of_range_is_named_with_its_value(toy, tmp_path):
    def percent(group: Any) -> Any:
        return toy.c.Estimate(100.0, None, None, 1, "percent")

    class Wide(toy.SomeTrivia):
        measures = (toy.c.Measure("accuracy", "accuracy", percent, headline=True, words="In percent."),)
        board = toy.c.Board()

    said = broken_rules(Wide, tmp_path)
    assert "is outside its range: 100.0 [" in said and "from 0.0 to 1.0" in said


def red(benchmark: type[Any], folder: Path) -> str:
    with pytest.MonkeyPatch.context() as patch, pytest.raises(ExceptionGroup) as caught:
        patch.setattr(conformance, "CHECKS", ())
        check_benchmark(benchmark, folder)
    return "\n".join(str(error) for error in caught.value.exceptions)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"probes": lambda self: ()}, "probes() returns nothing"),
        ({"ladders": ()}, "accuracy: no Ladder has it"),
        ({"text": lambda n: f"it is {n}, which is certain" if n else "it is not"}, "option words gets"),
        ({"text": lambda n: f"it is {'so ' * 9 if n else ''}", "balanced": True}, "longest option gets"),
        ({"ladder": ("accuracy", 0.9, 0.2)}, "accuracy 0.9 and 0.2 give"),
        ({"measure": {"answer": 1}}, "lifts it to 1"),
    ],
)
def test_an_instrument_that_measures_something_else_is_told(toy, tmp_path, given, said):
    class Odd(toy.SomeTrivia):
        def probes(self) -> Any:
            for n, item in enumerate(self.items):
                options = [given["text"](k == n % 2) for k in (0, 1)] if "text" in given else ["a", "b"]
                right, balanced = (n % 2,), given.get("balanced", False)
                yield toy.c.Probe("choice", item.item_id, tuple(options), right, balanced=balanced)

        if "probes" in given:
            probes = given["probes"]
        if "ladders" in given:
            ladders = given["ladders"]
        if "ladder" in given:
            ladders = (toy.c.Ladder("accuracy", *given["ladder"]),)
        if "measure" in given:
            coded = ("correct", "answer")
            measures = (
                *toy.SomeTrivia.measures,
                toy.c.Measure("even", "even", toy.share({"answer": 1}), words="x"),
            )

            def derive(self, responses: Any, judgements: Any) -> Any:
                return responses.with_columns(answer=(toy.pl.col("said") % 2 == 0).cast(toy.pl.Int8))

    assert said in red(Odd, tmp_path)


def test_what_cannot_be_compared_or_shown_alone_is_refused_when_it_is_declared(toy):
    with pytest.raises(TypeError, match="rises with every yes; declare false_alarms, d, c with it"):
        hits = toy.c.HitRate("false_alarms", "d", "c")
        type("Alone", (toy.SomeTrivia,), {"measures": (toy.c.Measure("hits", "hits", hit_rate=hits),)})
    measure = toy.c.Measure("passed", "passed", bases={"json": "fields"})
    contrast = toy.c.Contrast("formats", tuple, compares=(("passed", "json"), ("passed", "free")))
    with pytest.raises(TypeError, match=r"scored by \['', 'fields'\]; compare"):
        type("Mixed", (toy.SomeTrivia,), {"measures": (measure,), "contrasts": (contrast,)})
