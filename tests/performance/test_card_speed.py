"""What the evolution strategy costs on a graphics card. Seconds are of the wall clock, for the card works beside."""

import time

import pytest

torch = pytest.importorskip("torch", reason="the extra train is not installed")

from metacog_pipeline.benchmarks.selfknowledge.training.causal.interview import Asking  # noqa: E402
from metacog_pipeline.benchmarks.selfknowledge.training.causal.questions import Question  # noqa: E402
from metacog_pipeline.benchmarks.selfknowledge.training.causal.recipe import CausalRecipe  # noqa: E402
from metacog_pipeline.benchmarks.selfknowledge.training.es import Settings  # noqa: E402
from metacog_pipeline.benchmarks.selfknowledge.training.worker import Worker  # noqa: E402
from tests.performance.esma_memory import make_model  # noqa: E402
from tests.performance.timing import least  # noqa: E402

pytestmark = [
    pytest.mark.bench,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no graphics card here"),
]

WORDS, WIDTH, LAYERS = 20_000, 2_000, 24  # 1.2 thousand million weights
SETTINGS = Settings(population=32, batch=256, reward="joint")
QUESTIONS = tuple(Question(str(i), f"What is the number after {i}?", (str(i + 1),)) for i in range(256))


def seconds(run, times=3):
    """Return the least seconds until the card has done what it was told."""

    def done():
        run()
        torch.cuda.synchronize()

    return least(done, times, torch.cuda.synchronize, time.perf_counter)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("large")
    make_model(made, torch.bfloat16, WORDS, WIDTH, LAYERS)
    return made


def recipe(folder, trainee):
    asking = Asking(rows=256)
    return CausalRecipe(folder, QUESTIONS, (), asking, SETTINGS, device="cuda", trainee=trainee)


def test_a_generation_on_a_card(folder, figure):
    asking_s, peak = {}, {}
    for trainee in ("eager", "compiled"):
        torch.cuda.reset_peak_memory_stats()
        worker = Worker(recipe(folder, trainee))
        model, ask = worker.trainee.model, worker.trainee.fitness
        first = seconds(lambda: ask(model, 0), 1)  # noqa: B023
        with torch.no_grad():
            asking_s[trainee] = seconds(lambda: ask(model, 0))  # noqa: B023
        print(f"{trainee}: the first time {first:.1f} s, then {asking_s[trainee]:.2f} s")
        peak[trainee] = torch.cuda.max_memory_allocated() / 1e9
        if trainee == "eager":
            individuals = SETTINGS.individuals(0)
            steps = [(each.seed, 1e-6) for each in individuals]
            perturb_s = seconds(lambda: worker.weights.perturb(individuals[0], 1e-3))  # noqa: B023
            restore_s = seconds(worker.weights.restore)
            update_s = seconds(lambda: worker.weights.update(steps), 2)  # noqa: B023
            size = worker.weights.size
        worker.close()
    weights = f"{size / 1e6:,.0f} million weights in bfloat16"
    figure(
        f"{torch.cuda.get_device_name()}: noise and weights, {weights}", "none",
        f"a perturbation {1e3 * perturb_s:.0f} ms, restoring {1e3 * restore_s:.0f} ms, an update of {SETTINGS.population} "
        f"individuals {1e3 * update_s:.0f} ms ({1e9 * update_s / size / SETTINGS.population:.3f} ns a weight and each)",
        True,
    )  # fmt: skip
    own = perturb_s + (restore_s + update_s) / SETTINGS.population
    figure(
        f"the same, an individual asked {SETTINGS.batch} questions twice, 32 new words each", "none",
        f"eager {asking_s['eager']:.2f} s, compiled {asking_s['compiled']:.2f} s; the strategy adds {own:.3f} s, "
        f"{own / asking_s['eager']:.1%} and {own / asking_s['compiled']:.1%}; "
        f"at most {peak['eager']:.0f} and {peak['compiled']:.0f} GB of the card taken",
        True,
    )  # fmt: skip
