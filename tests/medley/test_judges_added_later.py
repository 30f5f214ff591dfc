"""MEDLEY-BENCH through ``metacog run``: who is asked what, and that nothing is asked twice."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from metacog_pipeline.asking import judging, tasks
from metacog_pipeline.benchmark.bound import bound
from metacog_pipeline.study import Study, load_study
from metacog_pipeline.transcripts.store import kept_records

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 3
MODELS = (("follows-arguments", "argument-follower", "a"), ("follows-the-crowd", "crowd-follower", "b"))


def write(folder: Path, judges: Sequence[str], conditions: Sequence[str]) -> Path:
    """Write a study; each judge is of the family of its own name."""
    parts = ['[study]\nname = "t"\nhome = "home"\n']
    for seed, (name, character, family) in enumerate(MODELS):
        observer = f'observer = {{ character = "{character}", seed = {seed} }}'
        parts.append(
            f'[[models]]\nname = "{name}"\nprovider = "simulated"\nfamily = "{family}"\n{observer}\n'
        )
    for judge in judges:
        observer = f"observer = {{ accuracy = 0.9, seed = {ord(judge)} }}"
        parts.append(
            f'[[judges]]\nname = "judge-{judge}"\nprovider = "simulated"\nfamily = "{judge}"\n{observer}\n'
        )
    named = json.dumps([f"judge-{judge}" for judge in judges])
    parts.append(
        "[benchmarks.medley]\n"
        f'dataset = "sample"\nlimit = {LIMIT}\nconditions = {json.dumps(list(conditions))}\njudges = {named}\n'
    )
    path = folder / "study.toml"
    path.write_text("".join(parts), encoding="utf-8")
    return path


def metacog(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from metacog_pipeline.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)


def run(study: Path) -> str:
    done = metacog("run", study)
    assert done.returncode == 0, done.stderr
    return done.stderr


def asked(study: Study) -> Counter[tuple[str, str]]:
    """Return how many answers there are to each step, by the condition they were asked under; a reused one counts once."""
    answers = {
        (partition.spec.name, record.answer_id): (record.condition, record.step)
        for partition in tasks.partitions(bound(study, "medley"))
        for record in reversed(list(kept_records(partition.folder)))
    }
    return Counter(answers.values())


def judged(study: Study) -> Counter[tuple[str, str]]:
    """Return how many judgements are kept, by judged model and judge."""
    return Counter(
        (partition.spec.name, record.model)
        for partition in tasks.partitions(bound(study, "medley"))
        for record in kept_records(judging.judged_as(partition).folder)
    )


@pytest.mark.proof
def test_judges_and_conditions_added_later_ask_only_what_is_new(tmp_path):
    path = write(tmp_path, ["a", "c"], ["normal"])
    run(path)
    study = load_study(path)
    first = asked(study)
    assert first == {("normal", step): 2 * LIMIT for step in ("step_a", "b_private", "b_social")}
    assert {pair: n >= LIMIT for pair, n in judged(study).items()} == {
        ("follows-arguments", "judge-c"): True,
        ("follows-the-crowd", "judge-a"): True,
        ("follows-the-crowd", "judge-c"): True,
    }  # no judge of the model's own family
    assert "everything is up to date" in run(path)

    before = judged(study)
    path = write(tmp_path, ["a", "c", "d"], ["normal"])
    said = run(path)
    assert "nothing was asked" not in said
    study = load_study(path)
    assert asked(study) == first
    new = judged(study) - before
    assert {judge for _, judge in new} == {"judge-d"}
    assert {model for model, _ in new} == {name for name, _, _ in MODELS}

    path = write(tmp_path, ["a", "c", "d"], ["normal", "adversarial", "stripped"])
    run(path)
    study = load_study(path)
    later = asked(study) - first
    known = sum(item.is_known_answer for item in bound(study, "medley").items)
    assert {step for _, step in later} == {
        "b_social"
    }  # step A and B-private are those of the normal condition
    assert later["stripped", "b_social"] == 2 * LIMIT
    assert later["adversarial", "b_social"] == 2 * known
