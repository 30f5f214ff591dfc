"""A benchmark that no run could ask fails before one is started: one line each, the others are looked at all the same."""

from pathlib import Path

import pytest

from metacog_pipeline.asking import doctor, planning
from metacog_pipeline.asking.doctor import Finding, examine, exit_code
from metacog_pipeline.errors import MetacogError
from metacog_pipeline.study import Study, load_study

MODEL = '[[models]]\nname = "m"\nprovider = "simulated"\n'
#: What stands in the table of a benchmark → the words and the exit code of the one line about it.
BROKEN = {
    ("metamedqa", 'dataset = "sample"\nwording = "nothere.toml"'): ("nothere.toml cannot be read", 2),
    ("metamedqa", 'dataset = "sample"\nconditions = ["basline"]'): ('did you mean "baseline"?', 2),
    ("metamedqa", 'dataset = "custom"\nfolder = "nothere"'): ("nothere: no such folder", 3),
    ("questions", 'items = ["x.jsonl"]'): ("x.jsonl: cannot be read", 3),
    ("questions", "items = []"): ("names no questions", 3),
    ("metacogbench", 'limit = 1\nlexicon = "x"'): ("lexicon ", 2),
    ("medley", 'dataset = "sample"\nwording = "nothere.toml"'): ("nothere.toml cannot be read", 2),
    ("selfknowledge", 'dataset = "sample"\nwording = "nothere.toml"'): ("nothere.toml cannot be read", 2),
    ("selfknowledge", 'wording = "nothere.toml"'): ("nothere.toml cannot be read", 2),  # its data are not here
    ("signaldetection", 'dataset = "sample"\nwording = "nothere.toml"'): ("nothere.toml cannot be read", 2),
}  # fmt: skip


def study_of(folder: Path, tables: str) -> Study:
    path = folder / "study.toml"
    path.write_text(f'[study]\nname = "t"\nhome = "home"\n{MODEL}{tables}')
    return load_study(path)


def look(study: Study) -> list[Finding]:
    return examine(study, offline=True, environment={}, port=0)


@pytest.mark.parametrize(("benchmark", "keys"), BROKEN)
def test_what_would_end_a_run_before_its_first_call_is_one_failing_line(tmp_path, benchmark, keys):
    said, code = BROKEN[benchmark, keys]
    study = study_of(tmp_path, f"[benchmarks.{benchmark}]\n{keys}\n")
    found = look(study)
    [failed] = [each for each in found if each.state == "fail"]
    assert failed.subject == benchmark and said in failed.text and "\n" not in failed.text
    assert exit_code(found) == failed.exit_code == code
    assert not (tmp_path / "home").exists(), "looking makes nothing"
    if "sample" in keys or benchmark != "selfknowledge":  # what is not fetched a plan would fetch
        with pytest.raises(MetacogError, match=said.replace("?", r"\?")):
            planning.plan_study(study)


def test_a_broken_benchmark_hides_no_other(tmp_path):
    tables = "".join(f"[benchmarks.{name}]\n{keys}\n" for name, keys in [*BROKEN][:1] + [*BROKEN][3:4])
    sound = '[benchmarks.signaldetection]\ndataset = "sample"\n'
    found = look(study_of(tmp_path, tables + sound))
    assert [each.subject for each in found if each.state == "fail"] == ["metamedqa", "questions"]
    assert any(each.subject == "signaldetection" for each in found)


def test_a_fault_of_the_benchmark_itself_is_a_line_too(tmp_path, monkeypatch):
    def broken(*given: object, **more: object) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(doctor, "require_askable", broken)
    found = look(study_of(tmp_path, '[benchmarks.signaldetection]\ndataset = "sample"\n'))
    assert [each.text for each in found if each.state == "fail"] == ["ZeroDivisionError: division by zero"]
