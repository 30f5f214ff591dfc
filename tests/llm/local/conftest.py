"""Tiny random models of two architectures in the layout of Hugging Face, made on the spot."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from metacog_pipeline.llm.open import Clients, open_model
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, Completion

torch = pytest.importorskip("torch", reason="the extra train is not installed")
transformers = pytest.importorskip("transformers", reason="the extra train is not installed")

TEMPLATE = (
    "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
SPECIAL = ["<|pad|>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>"]


def _tokenizer(template: str | None) -> object:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    words = [f"{mark}{word}" for word in ("Yes", "No", "A", "B", "Paris", "Rome") for mark in ("", "Ġ")]
    vocabulary = {token: place for place, token in enumerate(dict.fromkeys([*SPECIAL, *letters, *words]))}
    tokenizer = Tokenizer(models.BPE(vocabulary, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    made = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<|pad|>",
        eos_token="<|end|>",
        additional_special_tokens=SPECIAL[2:],
    )
    made.add_tokens(["Yes", "No", "Paris", "Rome"])
    made.chat_template = template
    return made


def _config(kind: str, size: int) -> object:
    ids = {"vocab_size": size, "eos_token_id": 1, "pad_token_id": 0, "bos_token_id": None}
    if kind == "gpt2":
        return transformers.GPT2Config(n_embd=32, n_layer=2, n_head=4, n_positions=256, **ids)
    return transformers.LlamaConfig(
        hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        max_position_embeddings=256, **ids,
    )  # fmt: skip


def spec_of(folder: Path, **changes: Any) -> ModelSpec:
    fields = {"name": "mine", "provider": "transformers", "model": str(folder), "device": "cpu"}
    return ModelSpec.model_validate({**fields, **changes})


def answers(spec: ModelSpec, requests: Sequence[ChatRequest]) -> list[Completion]:
    async def run() -> list[Completion]:
        async with Clients() as clients:
            model = open_model(spec, shared=clients)
            found = await asyncio.gather(*(model.complete(request) for request in requests))
            await model.close()
            return found

    return asyncio.run(run())


@pytest.fixture(scope="session")
def make_folder(tmp_path_factory):
    torch.set_num_threads(1)

    def make(kind: str = "llama", *, template: str | None = TEMPLATE, seed: int = 0) -> Path:
        folder = tmp_path_factory.mktemp(kind)
        tokenizer = _tokenizer(template)
        torch.manual_seed(seed)
        model = transformers.AutoModelForCausalLM.from_config(_config(kind, len(tokenizer)))
        with torch.no_grad():
            for weights in model.parameters():
                if weights.dim() > 1:
                    weights.normal_(0, 0.3)
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return folder

    return make


@pytest.fixture(scope="session")
def folders(make_folder):
    return {"llama": make_folder("llama"), "gpt2": make_folder("gpt2")}
