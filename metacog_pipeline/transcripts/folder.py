"""The folder of one partition and the manifest in it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from metacog_pipeline.errors import StoreError
from metacog_pipeline.files import write_text
from metacog_pipeline.llm.spec import SLUG_PATTERN

MANIFEST_NAME = "partition.json"
JUDGEMENTS = "_judgements"  # a judge's partitions stand under the name of its benchmark with this ending


def partition_folder(home: Path, benchmark: str, model: str, run: int) -> Path:
    """Return where the answers of one partition are kept under the study's ``home``.

    Raises ``StoreError`` for a benchmark or model that is not a slug, or a run below 1: each is a folder's name.
    """
    for what, value in (("benchmark", benchmark), ("model", model)):
        if not re.fullmatch(SLUG_PATTERN.rstrip("$"), value):
            raise StoreError(
                f"{what} {value!r} cannot name a folder: use a-z, 0-9, '.', '_', '-', at most 64"
            )
    if run < 1:
        raise StoreError(f"run {run} of {model} cannot name a folder: runs count from 1")
    return home / "transcripts" / f"benchmark={benchmark}" / f"model={model}" / f"run={run}"


def judgements_of(benchmark: str) -> str:
    """Return the name under which the judgements about a benchmark's answers are kept."""
    return f"{benchmark}{JUDGEMENTS}"


def read_manifest(folder: Path) -> dict[str, object]:
    """Return what :func:`write_manifest` kept in ``folder``, empty when nothing was.

    Raises ``StoreError`` when the file is not a JSON object.
    """
    path = folder / MANIFEST_NAME
    try:
        content = json.loads(path.read_bytes())
        if not isinstance(content, dict):
            raise ValueError("not a JSON object")
        return content
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise StoreError(
            f"{path} cannot be read ({error}): move it aside and run the partition again"
        ) from error


def write_manifest(folder: Path, content: Mapping[str, object]) -> None:
    """Replace the manifest of ``folder`` whole. Raises ``StoreError`` when it cannot be written."""
    path = folder / MANIFEST_NAME
    try:
        write_text(path, json.dumps(content, indent=2, sort_keys=True) + "\n")
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}: free space and run again") from error
