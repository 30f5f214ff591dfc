"""The authors' prompts, byte by byte: what is sent under `wording = "reference"` is what their package would send."""

import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from metacog_pipeline.benchmarks.medley.construction.sets import read_set
from metacog_pipeline.benchmarks.medley.items import STEPS
from metacog_pipeline.benchmarks.medley.presentation import presented
from metacog_pipeline.benchmarks.medley.prompts import PACKAGE, authors_wording, messages

HERE = Path(__file__).parent
DATA = Path(os.environ.get("METACOG_DATA") or HERE.parents[1].parent / "shared" / "data") / "medley" / "v1.0"
REPLY = '{"assessment": "So be it: 100 % – {vignette}", "claim_level_assessments": []}'
# Run by the package's own code, in a process of its own.
THEIRS = """
import json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from src.tracks.metacognition.prompts import step_a, step_b_private, step_b_social
made = {}
for path in sorted(Path(sys.argv[2], "instances").glob("*.json")):
    consensus = json.loads(Path(sys.argv[2], "consensus", path.name).read_text())
    for one in json.loads(path.read_text()):
        said = dict(step_a_response=sys.argv[3], vignette=one["vignette"])
        social = dict(analyst_outputs=json.dumps(one["ensemble_outputs"], indent=2),
                      jackknifed_consensus=json.dumps(consensus[one["instance_id"]], indent=2))
        made[one["instance_id"]] = [step_a.build_prompt(vignette=one["vignette"]), step_b_private.build_prompt(**said),
                                    step_b_social.build_prompt(**said, **social)]
print(json.dumps(made))
"""


def package() -> Path:
    """The folder the authors' package is in: METACOG_MEDLEY_BENCH, or where it is installed."""
    if named := os.environ.get("METACOG_MEDLEY_BENCH"):
        return Path(named)
    try:
        return Path(str(importlib.metadata.distribution(PACKAGE).locate_file("")))
    except importlib.metadata.PackageNotFoundError:
        pytest.skip(f"{PACKAGE} is not installed; METACOG_MEDLEY_BENCH names a folder that holds it")


def test_all_390_prompts_are_those_of_the_authors_package():
    folder = package()
    if not DATA.is_dir():
        pytest.skip(f"{DATA} is absent: the published instances are needed")
    told = subprocess.run(
        [sys.executable, "-c", THEIRS, str(folder), str(DATA), REPLY],
        capture_output=True,
        text=True,
        check=True,
    )
    theirs, words, same = json.loads(told.stdout), authors_wording(folder), 0
    for item in read_set(DATA).instances:
        shown = presented(item, "normal", True)
        ours = [messages(step, shown, "normal", words, REPLY) for step in STEPS]
        assert all(len(messages) == 1 and messages[0].role == "user" for messages in ours)
        same += sum(one[0].content == other for one, other in zip(ours, theirs[item.item_id], strict=True))
    assert same == 390
