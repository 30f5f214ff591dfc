"""What a judge is sent: the shipped text with its rubric and form, as a wording of two steps, ``judge`` and ``again``."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from metacog_pipeline.benchmarks.medley.prompts import PLACE, Wording
from metacog_pipeline.benchmarks.medley.read import DIMENSION_OF
from metacog_pipeline.files import canonical_json, read_toml, sha256_hex, shipped


@functools.cache  # the shipped file does not change under a running process
def _shipped() -> tuple[Mapping[str, Any], Mapping[str, str]]:
    data = read_toml(shipped("data", "medley", "judge.toml"))
    criteria = {
        f"{own['key']}{n}": text for own in data["dimensions"] for n, text in enumerate(own["criteria"], 1)
    }
    return data, criteria


@functools.cache
def judge_digest() -> str:
    """Return the SHA-256 over all texts: equal digests mean equal words."""
    data, criteria = _shipped()
    return sha256_hex(canonical_json([data["system"], data["text"], data["again"], criteria]))


@functools.cache
def judge_wording() -> Wording:
    """Return the words of a judge."""
    data, criteria = _shipped()
    rubric = "\n\n".join(
        "\n".join([dimension.replace("_", " "), *(f"{letter}{n}  {criteria[f'{letter}{n}']}" for n in (1, 2, 3))])
        for letter, dimension in DIMENSION_OF.items()
    )  # fmt: skip
    rows = [", ".join(f'"{letter}{n}": <0-3>' for n in (1, 2, 3)) for letter in DIMENSION_OF]
    fixed = {"rubric": rubric, "form": "{" + ",\n ".join(rows) + "}"}
    text = PLACE.sub(lambda place: fixed.get(place[1], place[0]), data["text"])
    texts = {"judge": text, "again": f"{text}\n\n{data['again']}"}
    return Wording("judge", texts, data["system"])
