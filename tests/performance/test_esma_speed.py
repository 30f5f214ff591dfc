"""What the evolution strategy costs beside asking: time of a generation over time of its evaluations, and peak memory."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="the extra train is not installed")

from metacog_pipeline.benchmarks.selfknowledge.training.es import Settings, commit_of  # noqa: E402
from metacog_pipeline.benchmarks.selfknowledge.training.figures import D  # noqa: E402
from metacog_pipeline.benchmarks.selfknowledge.training.toy.asking import ACCURACY  # noqa: E402
from metacog_pipeline.benchmarks.selfknowledge.training.toy.model import build_model  # noqa: E402
from metacog_pipeline.benchmarks.selfknowledge.training.toy.recipe import SETTINGS, ToyRecipe, save_toy  # noqa: E402
from metacog_pipeline.benchmarks.selfknowledge.training.worker import Worker  # noqa: E402
from tests.performance.timing import least  # noqa: E402
from tests.selfknowledge.training.worlds import changes, table  # noqa: E402

pytestmark = pytest.mark.bench

OVERHEAD, COPIES = 0.15, 1.3
OF_A_MODEL = {"float32": 0.05, "bfloat16": 0.03}
MEMORY = Path(__file__).with_name("esma_memory.py")


def overhead(worker: Worker, settings: Settings, rounds: int) -> tuple[float, float]:
    """Return seconds of a generation's evaluations alone, and the share the strategy adds; the least of some rounds."""
    individuals = settings.individuals(0)

    def alone() -> None:
        with torch.no_grad():
            for _ in individuals:
                worker.trainee.fitness(worker.trainee.model, 0)

    def generation() -> None:
        tried = worker.evaluate(0, individuals, settings.sigma)
        fitness = [each.fitness + 1e-3 * k for k, each in enumerate(tried)]
        worker.commit(commit_of(settings, 0, fitness))

    alone()
    pairs = [(least(alone), least(generation)) for _ in range(rounds)]
    pure, whole = (min(each) for each in zip(*pairs, strict=True))
    return pure, whole / pure - 1


def test_a_generation_of_the_toy(tmp_path, figure):
    save_toy(build_model(0), tmp_path)
    pure, more = overhead(Worker(ToyRecipe(0, tmp_path, SETTINGS)), SETTINGS, 12)
    measured = f"{1000 * pure * (1 + more):.0f} ms, of which evaluation {1000 * pure:.0f} ms: {more:.1%} more"
    what = f"a generation of the toy, {SETTINGS.population} × {SETTINGS.batch} questions in one pass of 8 words each"
    figure(what, f"≤ {OVERHEAD:.0%} over its evaluations", measured, more <= OVERHEAD)


def test_the_toy_in_five_worlds(tmp_path, figure):
    found, seconds = changes(tmp_path, range(5), ("joint", "direct"))
    print(f"\n{table(found)}")
    gains = {
        reward: [each.gain(D) for each in found if each.reward == reward] for reward in ("joint", "direct")
    }
    moved = max(abs(each.gain(ACCURACY)) for each in found if each.reward == "joint")
    listed = {reward: ", ".join(f"{gain:+.2f}" for gain in each) for reward, each in gains.items()}
    what = "the toy in 5 worlds, 308 people held out: gain of d′ under the joint reward"
    figure(
        what,
        "≥ 0.8 in each",
        f"{listed['joint']}; {seconds:.0f} CPU s a world, both rewards",
        min(gains["joint"]) >= 0.8,
    )
    figure(
        "the same, under the reward for answers alone",
        "≤ 0.3 in each",
        listed["direct"],
        max(gains["direct"]) <= 0.3,
    )
    figure(
        "the same, change of accuracy under the joint reward", "≤ 0.05", f"{moved:.3f} at most", moved <= 0.05
    )


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_memory_and_time_of_a_language_model(dtype, tmp_path, figure):
    done = subprocess.run(
        [sys.executable, str(MEMORY), dtype, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=1800,
        cwd=Path.cwd(),
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    weights = f"{found['weights'] / 1e6:.0f} million weights in {dtype}"
    figure(
        f"a generation with {weights}, {found['population']} × {found['batch']} questions",
        f"≤ {OF_A_MODEL[dtype]:.0%} over its evaluations",
        f"{found['generation_s']:.1f} s CPU, of which evaluation {found['pure_s']:.1f} s: {found['overhead']:.1%} more",
        found["overhead"] <= OF_A_MODEL[dtype],
    )
    figure(
        f"peak memory of evaluating and updating {weights}, over what was there before the model",
        f"≤ {COPIES} copies of the model",
        f"{found['copies']:.2f} copies ({found['peak_mb']:.0f} MB; evaluation alone {found['evaluation_copies']:.2f})",
        found["copies"] <= COPIES,
    )


def test_answers_of_the_compiled_trainee(tmp_path, figure):
    """64 prompts of 50 to 65 tokens, 40 of them an instruction that all share, 32 new tokens each, on one thread."""
    from metacog_pipeline.benchmarks.selfknowledge.training.causal import generation
    from metacog_pipeline.benchmarks.selfknowledge.training.causal.compiled import Static
    from metacog_pipeline.benchmarks.selfknowledge.training.causal.opening import open_model
    from tests.performance.esma_memory import make_model

    torch.set_num_threads(1)
    make_model(tmp_path, torch.float32, 8_000, 640, 8)
    loaded = replace(open_model(tmp_path), stop_ids=())
    with torch.no_grad():
        for weights in loaded.model.parameters():
            if weights.dim() > 1:
                weights.normal_(0, 0.1)
    drawn = torch.Generator().manual_seed(0)
    shared = torch.randint(2, 258, (40,), generator=drawn).tolist()
    prompts = [shared + torch.randint(2, 258, (10 + k % 16,), generator=drawn).tolist() for k in range(64)]
    static, said = Static(), {}
    seconds = {}
    with torch.no_grad():
        for name, answers in (("eager", generation.answers), ("compiled", static)):
            answers(loaded, prompts[:2], 2, 2)
            seconds[name] = least(lambda: said.update({name: answers(loaded, prompts, 32, 64)}))  # noqa: B023
    same = sum(a == b for a, b in zip(said["eager"], said["compiled"], strict=True))
    times = seconds["eager"] / seconds["compiled"]
    figure(
        "compiled beside eager trainee: 64 prompts, 40 of 50 to 65 tokens shared, 32 new ones, 45 million weights",
        "≥ 1.5 times, same answers",
        f"{seconds['eager']:.1f} against {seconds['compiled']:.1f} s CPU: {times:.2f} times, {same} of 64 the same",
        times >= 1.5 and same == 64,
    )


def test_questions_held_out_shared_by_workers(tmp_path, figure):
    """Processor seconds of one worker that asks all, over those of the worker with the largest part."""
    from metacog_pipeline.benchmarks.selfknowledge.training.causal.interview import Asking
    from metacog_pipeline.benchmarks.selfknowledge.training.causal.questions import Question
    from metacog_pipeline.benchmarks.selfknowledge.training.causal.recipe import CausalRecipe
    from tests.performance.esma_memory import make_model

    make_model(tmp_path, torch.float32, 300, 160, 2)
    held_out = tuple(Question(str(i), f"What is the number after {i}?", (str(i + 1),)) for i in range(256))
    asking = Asking(max_tokens=4, rows=8)
    worker = Worker(CausalRecipe(tmp_path, held_out[:2], held_out, asking, Settings(batch=2)))
    worker.validate(0, 64)
    whole = least(worker.validate)
    found = {}
    for many in (2, 4, 8):
        found[many] = whole / max(least(lambda: worker.validate(g, many)) for g in range(many))  # noqa: B023
    figure(
        "256 questions held out, shared by 2, 4 and 8 workers: processor seconds of one over those of the busiest",
        "≥ 0.8 times the workers",
        ", ".join(f"{times:.2f} times with {many}" for many, times in found.items())
        + f" (one: {whole:.1f} s CPU)",
        all(times >= 0.8 * many for many, times in found.items()),
    )
