"""A model of one's own, opened to be changed, and written as a folder again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from metacog_pipeline.errors import StudyError
from metacog_pipeline.llm.local.loading import Loaded, open_folder

_WHOLE = (
    512 << 20
)  # bytes; larger models are written in pieces, so that a copy of a piece is in memory, not of the model


def open_model(folder: Path, device: str = "cpu", dtype: str = "auto") -> Loaded:
    """Return a model nobody else holds. Raises StudyError when the folder holds none."""
    if not (folder / "config.json").is_file():
        raise StudyError(
            f"{folder}: no model here (config.json is missing); give the folder of a model in the layout of Hugging Face"
        )
    return open_folder(folder.name, str(folder), device, dtype)


def save_model(loaded: Loaded, folder: Path) -> None:
    """Write model and tokenizer so that the folder can be opened like any other."""
    size = sum(each.numel() * each.element_size() for each in loaded.model.parameters())
    loaded.model.save_pretrained(folder, max_shard_size=max(_WHOLE, size // 8))
    loaded.tokenizer.save_pretrained(folder)


def read_model(folder: Path, dtype: str = "auto") -> Mapping[str, Tensor]:
    """Return the parameters of a folder by the names the model gives them, tied ones once."""
    model: nn.Module = open_model(folder, "cpu", dtype).model
    return {name: parameter.data for name, parameter in model.named_parameters()}


def context_of(loaded: Loaded) -> int:
    """Return the most tokens prompt and answer may take."""
    return loaded.context or 1 << 30


def yes_no_tokens(loaded: Loaded, words: tuple[str, str]) -> tuple[int, int]:
    """Return the single tokens of the yes and the no word."""
    found: list[Any] = [loaded.tokenizer(word, add_special_tokens=False)["input_ids"] for word in words]
    for word, tokens in zip(words, found, strict=True):
        if len(tokens) != 1:
            raise StudyError(
                f'"{word}" is {len(tokens)} tokens for this model, not one: certainty cannot be read from one place; use '
                "--meta text"
            )
    return int(found[0][0]), int(found[1][0])
