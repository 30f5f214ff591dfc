"""A thousand studies of degenerate respondents, drawn one after the other through every benchmark: nothing fails.

Responses changed in one process with few resamples (``METACOG_FUZZ=50 pytest -m proof tests/proofs/test_fuzz.py`` tries
fewer), every seventh of them up to boards on which no two numbers disagree; and models behind a server that answer one
thing to everything, asked and scored by the command itself.
"""

import os
import random
import subprocess
import sys
from collections.abc import Mapping

import pytest

from metacog_pipeline import registry
from metacog_pipeline.conformance import try_benchmark
from metacog_pipeline.files import canonical_json
from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.read import run_query
from tests import degenerate as odd
from tests.draws import few_draws
from tests.proofs.boards import wrong_on_boards
from tests.simulated_server import ServerThread

pytestmark = pytest.mark.proof
STUDIES = int(os.environ.get("METACOG_FUZZ", "1000"))
BOARD_EVERY = 7
COMMANDS = int(os.environ.get("METACOG_FUZZ_COMMANDS", "30"))
FIRST = int(os.environ.get("METACOG_FUZZ_FROM", "0"))
#: What a model answers to everything.
REPLIES: Mapping[str, str] = {
    "always-a": "Answer: A\nConfidence: 5",
    "no-number": "Answer: NaN\nConfidence: NaN",
    "huge": "Answer: B\nConfidence: 1e308",
    "negative": "-1",
    "silent": ".",
    "empty": "",
    "refuses": "I cannot help with that.",
    "says-yes": "Yes. 100 %",
    "one": "1",
    "json": '{"answer": "A", "confidence": 5, "response": 1, "yes": true}',
    "brackets": "[" * 2000,
    "markup": "<script>alert(1)</script> | a | b |\x00\u202e",
    "long": "word " * 4000,
    "percent": "Answer: 50%\nConfidence: 50%\nBet: 50",
}
FEW = {"signaldetection": "trials"}


def test_degenerate_studies_have_every_table(tmp_path, monkeypatch):
    names = registry.names()
    tried = {name: try_benchmark(registry.load(name), tmp_path / name) for name in names}
    few_draws(monkeypatch)
    failed = {}
    for seed in range(FIRST, FIRST + STUDIES):
        name, changes = names[seed % len(names)], odd.drawn(seed)
        few = odd.first_items(tried[name].responses, random.Random(seed).choice([2, 5, 10, 24]))
        responses = odd.changed(few, changes, seed)
        wrong = odd.wrong_in(tried[name], responses, runs=seed % 4 == 0)
        if seed % BOARD_EVERY == 0:
            wrong += wrong_on_boards(tried[name], responses)
        if wrong:
            failed[seed, name, " + ".join(each.__name__ for each in changes)] = wrong
    assert not failed


def study_of(seed: int, url: str) -> tuple[str, list[str]]:
    """Return a study file of one benchmark and one to three degenerate models, and their names."""
    chance, names = random.Random(seed), registry.names()
    name = names[seed % len(names)]
    models = chance.sample(sorted(REPLIES), chance.choice([1, 1, 2, 3]))
    settings = {
        **registry.load(name).trial_settings,
        FEW.get(name, "limit"): chance.choice([1, 1, 2, 3]) + (name in FEW),
    }
    lines = ["[study]", 'name = "odd"', 'home = "home"', f"runs = {chance.choice([1, 1, 2])}"]
    for each in models:
        lines += ["[[models]]", f'name = "{each}"', f'model = "{each}"', 'provider = "openai"']
        lines += [f'base_url = "{url}/v1"', 'answer_mode = "text"', "price_in = 0", "price_out = 0"]
    if chance.random() < 0.3:
        right = chance.choice(["0.0", "1.0"])
        lines += ["[[models]]", 'name = "extreme"', 'provider = "simulated"', "[models.observer]"]
        lines += [f"accuracy = {right}", f"refusal = {right}", "d = 6.0"]
        models.append("extreme")
    lines += [f"[benchmarks.{name}]", "allow_incomplete = true"]
    lines += [
        f"{key} = {canonical_json(value)}" for key, value in settings.items() if key != "allow_incomplete"
    ]
    return "\n".join(lines) + "\n", models


@pytest.mark.parametrize("seed", range(COMMANDS))
def test_degenerate_models_end_with_exit_0_and_boards(tmp_path, seed):
    with ServerThread(lambda name, request: REPLIES[name]) as server:
        words, models = study_of(seed, server.url)
        study = tmp_path / "study.toml"
        study.write_text(words, "utf-8")
        command = [sys.executable, "-m", "metacog_pipeline", "run", str(study), "--quiet"]
        environment = {**os.environ, "OPENAI_API_KEY": "sk-none"}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    # Five empty answers in a row end the asking of that model (exit code 7); boards are made all the same.
    allowed = (0, 7) if "empty" in models else (0,)
    assert done.returncode in allowed, words + done.stdout + done.stderr
    shown = run_query(
        Home(tmp_path / "home"), "select distinct model from leaderboard where source <> 'published'"
    ).rows
    assert {row[0] for row in shown} == set(models)
    assert run_query(Home(tmp_path / "home"), "from measures_disagree").rows == ()
