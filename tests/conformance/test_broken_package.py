"""A package whose benchmark cannot be used is left out of a study with one line; the others of the study are read."""

import pytest

from metacog_pipeline import registry
from metacog_pipeline.errors import StudyError
from metacog_pipeline.study import load_study
from tests.conformance.packages import found, install

STUDY = '[study]\nname = "s"\n[[models]]\nname = "m"\nprovider = "simulated"\n'
OTHER = '[benchmarks.metamedqa]\ndataset = "sample"\n'
RESPONSE = """    @dataclasses.dataclass(slots=True)
    class Response(c.Response):
        {field}
        status: str = "ok"
        reason: str | None = None
"""
#: What a class, or the module that should have it, says wrongly → what is told of it.
WRONG_CLASS = {
    'name = "other"': "its entry point is called 'shaky'; make them the same",
    'name = "metamedqa"': "its entry point is called 'shaky'",
    "name = 7": "make them the same",
    "Settings = dict": "shaky.Settings is no subclass of contract.Settings; derive it",
    "Item = str": "shaky.Item is no subclass of contract.Item; derive it",
    "measures = toy.SomeTrivia.measures * 2": "accuracy is declared 2 times; rename or remove one",
    'measures = (c.Measure("bare", "bare"),)': "bare has no compute and is in no MeasureSet",
    "measures = 5": "its measures cannot be read",
    "versions = {}": "versions has no entry for items, asking, parsing, judging, scoring",
    'tables = (dataclasses.replace(toy.SomeTrivia.tables[0], name="responses"),)': "every benchmark has its responses",
    'tables = (dataclasses.replace(toy.SomeTrivia.tables[0], name="runs"),)': "call the table otherwise",
    'tables = (dataclasses.replace(toy.SomeTrivia.tables[0], name="my table; drop"),)': "cannot name a table",
    'tables = (dataclasses.replace(toy.SomeTrivia.tables[0], name="../up"),)': "cannot name a table",
    "tables = toy.SomeTrivia.tables * 2": "two tables are called mistakes; rename one",
    "class Item(c.Item):\n        extra: dict": "Item.extra: no column type",
    RESPONSE.format(field="what: dict | None = None").strip(): "Response.what: no column type",
    RESPONSE.format(
        field="model: str | None = None"
    ).strip(): "Response repeats model, which every response has",
    RESPONSE.format(field="what: 'Nowhere' = None").strip(): "NameError",
}
WRONG_MODULE = {
    "shaky = 42": "42 is no benchmark",
    "class shaky: pass": "is no benchmark; let the entry point name a subclass",
    "class other: pass": "cannot be imported: AttributeError",
    "from metacog_pipeline.benchmark.contract import Benchmark\nclass shaky(Benchmark): name = 'shaky'": (
        "shaky does not define ask, construction, observer, parse; define them on the class"
    ),
    "import nowhere_at_all": "cannot be imported: ModuleNotFoundError",
    "raise RuntimeError('no\\nGPU')": "cannot be imported: RuntimeError: no GPU",
    "import sys\nsys.exit(3)": "cannot be imported: SystemExit: 3",
    "import sys\nsys.exit()": "cannot be imported: SystemExit",
    "class Stop(BaseException): pass\nraise Stop('here')": "cannot be imported: Stop: here",
    "def (": "cannot be imported: SyntaxError",
}


@pytest.fixture
def study(tmp_path):
    def write(*tables: str):
        path = tmp_path / "study.toml"
        path.write_text(STUDY + "".join(tables))
        return path

    return write


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "installed"
    made.mkdir()
    return made


def is_left_out(study, said):
    """The study goes on without shaky, and says why."""
    read = load_study(study("[benchmarks.shaky]\nwhatever = 1\n", OTHER))
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
            read = load_study(study("[benchmarks.shaky]\n", OTHER))
            assert "ValueError: no" in read.broken_plugins["shaky"]
    assert capsys.readouterr() == ("", "tried\n")


def test_a_study_of_nothing_else_says_so_in_its_error(study, folder, capsys):
    install(folder, "shaky", module="import sys\nsys.exit(0)")
    with (
        found(folder),
        pytest.raises(StudyError, match=r"study\.toml: benchmark shaky of package shaky 1\.0") as told,
    ):
        load_study(study("[benchmarks.shaky]\n"))
    assert told.value.exit_code == 2 and capsys.readouterr().err == ""


def test_one_that_is_switched_off_is_nobodys_concern(study, folder):
    install(folder, "shaky", module="shaky = 42")
    with found(folder):
        read = load_study(study("[benchmarks.shaky]\nenabled = false\n", OTHER))
    assert (read.enabled, read.broken_plugins) == (("metamedqa",), {})


def test_a_sound_package_is_taken_as_it_is(study, toy_folder, capsys):
    with found(toy_folder):
        read = load_study(study("[benchmarks.sometrivia]\nsums = 3\n", OTHER))
        assert read.enabled == ("sometrivia", "metamedqa") and capsys.readouterr().err == ""
        assert read.benchmarks["sometrivia"].sums == 3


def test_what_a_package_prints_is_no_output_of_the_command(study, folder, toy_folder, capsys):
    install(folder, "shaky", "    print('hello')")
    with found(toy_folder, folder):
        load_study(study("[benchmarks.shaky]\n", OTHER))
    assert capsys.readouterr() == ("", "hello\n")


def test_of_two_packages_with_one_name_none_is_taken_and_both_are_named(study, folder, toy_folder):
    install(folder, "shaky")
    install(folder, "rival", module="from shaky import shaky as Other", entry="shaky = rival:Other")
    with found(toy_folder, folder):
        read = load_study(study("[benchmarks.shaky]\n", OTHER))
        assert read.enabled == ("metamedqa",)
    line = read.broken_plugins["shaky"]
    assert "shaky 1.0" in line and "rival 1.0" in line and "uninstall or rename the other" in line


def test_the_same_class_in_two_packages_is_one(study, folder, toy_folder):
    install(folder, "shaky")
    install(folder, "renamed", module="", entry="shaky = shaky:shaky")
    with found(toy_folder, folder):
        assert load_study(study("[benchmarks.shaky]\n", OTHER)).enabled == ("shaky", "metamedqa")


def test_no_package_takes_the_name_of_one_that_is_shipped(study, folder, toy_folder):
    shipped = registry.load("metamedqa")
    install(folder, "rival", entry="metamedqa = rival:rival")
    with found(toy_folder, folder):
        read = load_study(study(OTHER))
        assert (read.enabled, read.broken_plugins) == (("metamedqa",), {})
        assert registry.load("metamedqa") is shipped
