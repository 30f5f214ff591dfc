"""Run where vllm is installed: one model in vLLM and in PyTorch; weights, fitness and replies must be the same.

Prints one line of JSON last. vLLM wants a script with a guard, in a process of its own.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch


def make_model(folder: Path) -> None:
    """Write a tiny random Llama whose heads are of a size that vLLM has kernels for."""
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    special = ["<|pad|>", "<|end|>", "<|user|>", "<|assistant|>"]
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(models.BPE({token: i for i, token in enumerate([*special, *letters])}, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    named = {"pad_token": "<|pad|>", "eos_token": "<|end|>", "additional_special_tokens": special[2:]}
    words = transformers.PreTrainedTokenizerFast(tokenizer_object=made, **named)
    words.chat_template = "{% for m in messages %}<|user|>{{ m['content'] }}{% endfor %}<|assistant|>"
    config = transformers.LlamaConfig(
        vocab_size=len(words), hidden_size=128, intermediate_size=192, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, head_dim=64, max_position_embeddings=512, eos_token_id=1, pad_token_id=0,
        bos_token_id=None,
    )  # fmt: skip
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(config).float()
    with torch.no_grad():
        for weights in model.parameters():
            if weights.dim() > 1:
                weights.normal_(0, 0.15)
    model.save_pretrained(folder)
    words.save_pretrained(folder)


def main(folder: Path) -> None:
    """Compare and print."""
    from metacog_pipeline.benchmarks.selfknowledge.training import causal
    from metacog_pipeline.benchmarks.selfknowledge.training.es import Settings, commit_of
    from metacog_pipeline.benchmarks.selfknowledge.training.interview import Asking, Interview
    from metacog_pipeline.benchmarks.selfknowledge.training.questions import Question
    from metacog_pipeline.benchmarks.selfknowledge.training.worker import Worker

    opened: list[Interview] = []

    class Seen(Interview):
        def __init__(self, *given: Any, **more: Any) -> None:
            super().__init__(*given, **more)
            opened.append(self)

    causal.Interview = Seen  # type: ignore[misc]
    make_model(folder / "model")
    asked = tuple(Question(str(i), f"What is number {i}?", tuple("abcdef")) for i in range(12))
    settings = Settings(sigma=0.02, alpha=0.05, population=4, batch=6, generations=3, reward="direct", seed=1)
    recipe = causal.CausalRecipe(folder / "model", asked[:8], asked[8:], Asking(max_tokens=8), settings)
    found: dict[str, dict[str, Any]] = {}
    for trainee in ("torch", "vllm"):
        opened.clear()
        worker = Worker(replace(recipe, trainee=trainee))
        interview, replies, fitness, digests = opened[0], [], [], [worker.digest()]
        for t in range(settings.generations):
            tried = worker.evaluate(t, settings.individuals(t), settings.sigma)
            fitness.append([each.fitness for each in tried])
            given = [float((7 * k + t) % 4) for k in range(settings.population)]  # the same for both
            digests.append(worker.commit(commit_of(settings, t, given))[0])
            worker.weights.perturb(settings.individuals(99)[0], settings.sigma)
            replies += [f"{each.direct}|{each.meta}" for each in interview.ask()]
            worker.weights.restore()
        (saved := folder / trainee).mkdir()
        worker.save(saved)
        digests += [worker.load(saved), Worker(replace(recipe, folder=saved)).digest()]
        said = {"digests": digests, "fitness": fitness, "replies": replies}
        found[trainee] = {**said, "held_out": worker.validate()}
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
