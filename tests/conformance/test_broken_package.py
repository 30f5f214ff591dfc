"""A package whose benchmark cannot be used is left out of a study with one line; the others of the study are read."""

import pytest

from metacog_pipeline import registry
from metacog_pipeline.errors import StudyError
from metacog_pipeline.study import load_study
from tests.conformance.packages import found, install
from tests.studies import SAMPLE, write_study

RESPONSE = """@dataclasses.dataclass(slots=True)
    class Response(c.Response):
        {}
        status: str = "ok"
        reason: str | None = None
"""
TABLE = 'tables = (dataclasses.replace(toy.SomeTrivia.tables[0], name="{}"),)'
#: What a class, or the module that should have it, says wrongly → what is told of it.
WRONG_CLASS = {
    'name = "other"': "its entry point is called 'shaky'; make them the same",
    "name = 7": "make them the same",
    "Settings = dict": "shaky.Settings is no subclass of contract.Settings; derive it",
    "Item = str": "shaky.Item is no subclass of contract.Item; derive it",
    "measures = toy.SomeTrivia.measures * 2": "accuracy is declared 2 times; rename or remove one",
    'measures = (c.Measure("bare", "bare"),)': "bare has no compute and is in no MeasureSet",
    "measures = 5": "shaky cannot be read (TypeError",
    "versions = {}": "versions has no entry for items, asking, parsing, judging, scoring",
    TABLE.format("responses"): "one is called 'responses'; use lower-case letters",
    TABLE.format("my table; drop"): "none that is taken",
    "tables = toy.SomeTrivia.tables * 2": "one is called 'mistakes'",
    "class Item(c.Item):\n        extra: dict": "Item.extra: no column type",
    RESPONSE.format("what: dict | None = None"): "Response.what: no column type",
    RESPONSE.format("model: str | None = None"): "Response repeats model, which every response has",
    RESPONSE.format("what: 'Nowhere' = None"): "NameError",
}
WRONG_MODULE = {
    "shaky = 42": "42 is no benchmark; let the entry point name a subclass",
    "class other: pass": "cannot be imported: AttributeError",
    "from metacog_pipeline.benchmark.contract import Benchmark\nclass shaky(Benchmark): name = 'shaky'": (
        "shaky does not define ask, construction, observer, parse; define them on the class"
    ),
    "import nowhere_at_all": "cannot be imported: ModuleNotFoundError",
    "raise RuntimeError('no\\nGPU')": "cannot be imported: RuntimeError: no GPU",
    "import sys\nsys.exit(3)": "cannot be imported: SystemExit: 3",
    "class Stop(BaseException): pass\nraise Stop('here')": "cannot be imported: Stop: here",
    "def (": "cannot be imported: SyntaxError",
}


@pytest.fixture
def study(tmp_path):
    def read(benchmarks):
        return load_study(
            write_study(tmp_path, {"name": "m", "provider": "simulated"}, benchmarks=benchmarks)
        )

    return read


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "installed"
    made.mkdir()
    return made


def is_left_out(study, said):
    """The study goes on without shaky, and says why."""
    read = study({"shaky": {"whatever": 1}, **SAMPLE})
    assert read.enabled == ("metamedqa",)
    why = read.broken_plugins["shaky"]
    assert said in why and "package shaky 1.0" in why


@pytest.mark.parametrize("lines", WRONG_CLASS)
def test_a_class_that_cannot_be_used_is_told(study, folder, toy_folder, lines):
    install(folder, "shaky", f"    {lines}")
    with found(toy_folder, folder):
        is_left_out(study, WRONG_CLASS[lines])


@pytest.mark.parametrize("module", WRONG_MODULE)
def test_a_module_that_gives_no_class_is_told(study, folder, module):
    install(folder, "shaky", module=module)
    with found(folder):
        is_left_out(study, WRONG_MODULE[module])
        with pytest.raises(StudyError, match="package shaky"):
            registry.load("shaky")
        assert "shaky" not in registry.names() and "metamedqa" in registry.names()


def test_it_is_imported_once_however_often_the_study_is_read(study, folder, capsys):
    install(folder, "shaky", module="print('tried')\nraise ValueError('no')")
    with found(folder):
        for _ in range(2):
            is_left_out(study, "ValueError: no")
        with pytest.raises(StudyError, match=r"study\.toml: benchmark shaky of package shaky 1\.0") as told:
            study({"shaky": {}})  # and nothing else
        off = study({"shaky": {"enabled": False}, **SAMPLE})
    # What a package prints is no output of the command.
    assert told.value.exit_code == 2 and capsys.readouterr() == ("", "tried\n")
    assert (off.enabled, off.broken_plugins) == (("metamedqa",), {})


def test_a_sound_package_is_taken_as_it_is(study, toy_folder, capsys):
    with found(toy_folder):
        read = study({"sometrivia": {"sums": 3}, **SAMPLE})
        assert read.enabled == ("sometrivia", "metamedqa") and capsys.readouterr().err == ""
        assert read.benchmarks["sometrivia"].sums == 3


def test_of_two_packages_with_one_name_none_is_taken_and_both_are_named(study, folder, toy_folder):
    install(folder, "shaky")
    install(folder, "rival", module="from shaky import shaky as Other", entry="shaky = rival:Other")
    with found(toy_folder, folder):
        read = study({"shaky": {}, **SAMPLE})
        assert read.enabled == ("metamedqa",)
    line = read.broken_plugins["shaky"]
    assert "shaky 1.0" in line and "rival 1.0" in line and "uninstall or rename the other" in line


def test_the_same_class_in_two_packages_is_one(study, folder, toy_folder):
    install(folder, "shaky")
    install(folder, "renamed", module="", entry="shaky = shaky:shaky")
    with found(toy_folder, folder):
        assert study({"shaky": {}, **SAMPLE}).enabled == ("shaky", "metamedqa")


def test_no_package_takes_the_name_of_one_that_is_shipped(study, folder, toy_folder):
    shipped = registry.load("metamedqa")
    install(folder, "rival", entry="metamedqa = rival:rival")
    with found(toy_folder, folder):
        read = study(SAMPLE)
        assert (read.enabled, read.broken_plugins) == (("metamedqa",), {})
        assert registry.load("metamedqa") is shipped
