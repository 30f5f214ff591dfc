"""Run by a benchmark in a process of its own: one generation on a random language model, its time and its peak memory."""

from __future__ import annotations

import ctypes
import gc
import json
import sys
import time
from dataclasses import replace
from pathlib import Path

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from metacog_pipeline.benchmarks.selfknowledge.training.causal import CausalRecipe
from metacog_pipeline.benchmarks.selfknowledge.training.es import Settings, commit_of
from metacog_pipeline.benchmarks.selfknowledge.training.interview import Asking
from metacog_pipeline.benchmarks.selfknowledge.training.questions import Question
from metacog_pipeline.benchmarks.selfknowledge.training.worker import Worker

SETTINGS = Settings(population=2, batch=64, generations=1, reward="joint")
ONE = Asking(max_tokens=2, rows=1)  # one prompt at a time: activations do not hide what the strategy holds
FEW = 4  # questions whose memory is that of 64, where prompts come one at a time


def make_model(folder: Path, dtype: torch.dtype, words: int, width: int, layers: int) -> None:
    """Write a random GPT-2."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: place for place, token in enumerate(["<pad>", "<end>", *letters])}
    made = Tokenizer(models.BPE(vocabulary, []))
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", eos_token="<end>"
    )
    config = transformers.GPT2Config(
        vocab_size=words, n_embd=width, n_layer=layers, n_head=10, n_positions=512, bos_token_id=None,
        eos_token_id=1, pad_token_id=0,
    )  # fmt: skip
    torch.manual_seed(0)
    transformers.AutoModelForCausalLM.from_config(config).to(dtype).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def resident(what: str) -> float:
    """Return a figure of this process in MiB: VmRSS now, VmHWM at most."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{what}:")) / 1024


# The peak is reset after the model has been opened, so that it is that of the strategy and not of the loader.
def settle() -> float:
    """Give back what is free, forget the peak, and return resident memory."""
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    return resident("VmRSS")


def alone(worker: Worker, individuals: int = SETTINGS.population) -> None:
    """Ask the unperturbed model as often as a generation does."""
    with torch.no_grad():
        for _ in range(individuals):
            worker.trainee.fitness(0)


def generation(worker: Worker) -> None:
    """Make a generation, with its digest."""
    tried = worker.evaluate(0, SETTINGS.individuals(0), SETTINGS.sigma)
    worker.commit(commit_of(SETTINGS, 0, [each.fitness + k for k, each in enumerate(tried)]))


def asking_and_rest(worker):
    """Return the processor seconds of one generation that go into asking, and those the strategy adds."""
    asking, ask = 0.0, worker.trainee.fitness

    def timed(*given):
        nonlocal asking
        begun = time.process_time()
        found = ask(*given)
        asking += time.process_time() - begun
        return found

    worker.trainee = replace(worker.trainee, fitness=timed)
    begun = time.process_time()
    generation(worker)
    return asking, time.process_time() - begun - asking


def main(dtype: str, folder: Path) -> None:
    """Measure and print."""
    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()
    kind = getattr(torch, dtype)
    # 109 million weights. The small model first: what the libraries take once does not count.
    make_model(folder / "model", kind, 20_000, 800, 12)
    make_model(folder / "small", kind, 300, 40, 1)
    questions = tuple(Question(str(i), f"What is the number after {i}?", (str(i + 1),)) for i in range(96))
    few = SETTINGS.model_copy(update={"batch": FEW})
    recipe = CausalRecipe(folder / "model", questions, (), ONE, few, dtype=dtype)
    generation(Worker(replace(recipe, folder=folder / "small")))
    before = settle()
    worker = Worker(recipe)
    weights = worker.weights.size
    worker.weights.restore()  # the loader leaves the weights in the file until they are written
    settle()
    alone(worker)
    evaluation = resident("VmHWM")
    settle()
    generation(worker)
    peak = resident("VmHWM")
    del worker
    # Time is that of a run as it comes: 64 prompts at once, answers of up to 32 tokens.
    worker = Worker(replace(recipe, asking=Asking(), settings=SETTINGS))
    alone(worker, individuals=1)
    pure, rest = asking_and_rest(worker)
    size = weights * kind.itemsize / (1 << 20)
    found = {"weights": weights, "population": SETTINGS.population, "batch": SETTINGS.batch, "pure_s": pure}
    found |= {"generation_s": pure + rest, "overhead": rest / pure, "peak_mb": peak - before}
    found |= {"copies": (peak - before) / size, "evaluation_copies": (evaluation - before) / size}
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
