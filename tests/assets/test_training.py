"""Training is in the graph where the study says so, needs nothing to be seen, and shows its numbers when it has run."""

import os
from pathlib import Path

import pytest

from tests.studies import write_study

STEPS = [f"esma_{step}" for step in ("base", "taught", "checkpoint", "baselines", "patching", "evaluation")]
SEEN = """
import sys
from metacog_assets.definitions import defs
keys = [key.to_user_string() for key in defs.resolve_asset_graph().get_all_asset_keys()]
print(sorted(key for key in keys if key.startswith("esma")), "torch" in sys.modules)
"""
RUN = """
import sys
from dagster import materialize
from metacog_pipeline.benchmarks.selfknowledge.training import small
small.STEPS = 20
from metacog_assets.graph import TRAINING
from metacog_assets.study_file import StudyResource
done = materialize(TRAINING, resources={"study": StudyResource()})
for event in done.get_asset_materialization_events():
    print(event.asset_key.to_user_string(), sorted(event.materialization.metadata))
"""


@pytest.fixture
def python(loaded):
    """Return a function that runs code in a process that shows a study, and gives what it printed."""

    def run(study, code):
        done = loaded.python(
            "-c", code, **{**os.environ, "METACOG_STUDY": str(study), "METACOG_PROGRESS": "quiet"}
        )
        out, err = done.communicate()
        assert done.returncode == 0, err
        return out

    return run


def write(folder: Path, more: str) -> Path:
    path = write_study(folder, {"name": "sim", "provider": "simulated"}, name="teach", home=None)
    path.write_text(path.read_text() + more)
    return path


def test_the_assets_are_there_only_with_the_section_and_without_loading_torch(python, tmp_path):
    assert python(write(tmp_path, ""), SEEN).strip() == "[] False"
    with_section = python(write(tmp_path, "[training]\n"), SEEN).strip()
    assert with_section == f"{sorted(STEPS)} False"


@pytest.mark.proof
def test_they_run_in_order_and_show_numbers(python, tmp_path):
    pytest.importorskip("torch")
    section = (
        '[training]\npreset = "fictional"\ngenerations = 2\npopulation = 2\nbatch = 16\nevaluate_every = 1\n'
    )
    lines = python(write(tmp_path, section), RUN).splitlines()
    found = {line.split()[0]: line for line in lines}
    assert sorted(found) == sorted(STEPS)
    assert list(found)[:2] == ["esma_base", "esma_taught"]
    assert list(found)[-1] == "esma_evaluation"
    assert "'d_type2, last'" in found["esma_checkpoint"]
    assert (tmp_path / "teach-home" / "training" / "run" / "last").is_dir()
