"""A model's name says where its answers are kept: nobody pays for them twice because a name has changed."""

from pathlib import Path
from typing import Any

import pytest

from metacog_pipeline.asking.doctor import examine
from metacog_pipeline.asking.planning import plan_study
from metacog_pipeline.asking.renamed import refuse, rename_problem
from metacog_pipeline.asking.session import request_digest
from metacog_pipeline.errors import StudyError
from metacog_pipeline.study import Study, load_study
from metacog_pipeline.transcripts.folder import PartitionFolder, write_manifest
from tests.tables import every


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")


def study_of(folder: Path, *names: str, **keys: Any) -> Study:
    rows = {"provider": "openai", "model": "x", "price_in": 1.0, "price_out": 2.0, **keys}
    text = '[study]\nname = "t"\nhome = "home"\nbudget_usd = 5.0\n'
    for name in names:
        text += f"[[models]]\nname = {name!r}\n" + "".join(
            f"{key} = {value!r}\n" for key, value in rows.items()
        )
    (folder / "study.toml").write_text(f'{text}[benchmarks.metamedqa]\ndataset = "sample"\nlimit = 4\n')
    return load_study(folder / "study.toml")


def answered(study: Study, name: str, benchmark: str = "metamedqa", n: int = 12) -> None:
    """Note what a session of the first model notes, under ``name``."""
    folder = PartitionFolder(study.home, benchmark, name, 1)
    folder.path.mkdir(parents=True)
    (folder / "journal-000001.jsonl").touch()
    write_manifest(
        folder, {"state": "complete", "n_answered": n, "asked_as": request_digest(study.models[0])}
    )


def test_a_renamed_model_is_said_before_anything_is_asked_and_not_asked(tmp_path):
    answered(study_of(tmp_path, "ok"), "ok")
    study = study_of(tmp_path, "okay")
    line = rename_problem(study, study.models[0])
    assert line is not None
    assert line.startswith('answers of "ok" are kept with the settings of okay, which has none')
    assert line.endswith(
        'name it "ok" again, or have everything asked and paid for anew with metacog run --reask renamed'
    )
    assert f"okay: {line}." in plan_study(study).notes
    found = [each for each in examine(study, offline=True) if each.text == line]
    assert [(each.state, each.subject, each.exit_code) for each in found] == [
        ("fail", "okay", StudyError.exit_code)
    ]
    with pytest.raises(StudyError, match='model okay: answers of "ok"'):
        refuse(study, ())
    refuse(study, ("another",))


@every(
    ("names", "keys"),
    [
        (("ok", "okay"), {}),  # the same model twice, on purpose
        (("okay",), {"temperature": 1.0}),
        (("okay",), {"model": "y"}),
        (("okay",), {"top_logprobs": 0}),
        (("okay",), {"price_in": 0.0, "price_out": 0.0}),
    ],
)
def test_another_model_and_one_that_costs_nothing_is_asked(tmp_path, names, keys):
    old = study_of(tmp_path, "ok")
    if not PartitionFolder(old.home, "metamedqa", "ok", 1).path.exists():
        answered(old, "ok")
    refuse(study_of(tmp_path, *names, **keys), ())


def test_a_model_with_answers_under_its_new_name_is_asked_on(tmp_path):
    answered(study_of(tmp_path, "ok"), "ok")
    study = study_of(tmp_path, "okay")
    answered(study, "okay")
    refuse(study, ())
