"""The folder of one partition and the manifest in it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from metacog_pipeline.errors import StoreError
from metacog_pipeline.files import sha256_hex, write_text
from metacog_pipeline.llm.spec import SLUG_PATTERN

MANIFEST_NAME = "partition.json"
CHECKSUM, LAYOUT = "sha256", 2  # of the other fields of a manifest; manifests of layout 1 have neither
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

    All that is in it can be told again from the journals. A damaged one says so as the message of a failed partition, which
    the next run looks through and asks nothing it has an answer to. Raises ``StoreError`` when the file cannot be opened.
    """
    path = folder / MANIFEST_NAME
    try:
        content = json.loads(path.read_bytes())
        if not isinstance(content, dict):
            raise ValueError("not a JSON object")
        layout, checksum = content.pop("layout", None), content.pop(CHECKSUM, None)
        # One of version 0.2 and before has neither; no single damage takes both.
        if (layout, checksum) != (None, None) and (layout, checksum) != (LAYOUT, _checksum(content)):
            raise ValueError("its checksum says that it changed")
        return content
    except FileNotFoundError:
        return {}
    except (ValueError, RecursionError):
        said = f"{path} is damaged; metacog run makes it anew and asks nothing that is answered"
        return {"state": "failed", "message": said}
    except OSError as error:
        raise StoreError(
            f"{path} cannot be read ({error.strerror}): check its permissions and the disk"
        ) from error


def write_manifest(folder: Path, content: Mapping[str, object]) -> None:
    """Replace the manifest of ``folder`` whole. Raises ``StoreError`` when it cannot be written."""
    path = folder / MANIFEST_NAME
    try:
        sealed = {**content, "layout": LAYOUT, CHECKSUM: _checksum(content)}
        write_text(path, json.dumps(sealed, indent=2, sort_keys=True) + "\n")
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}: free space and run again") from error


def _checksum(content: Mapping[str, object]) -> str:
    return sha256_hex(json.dumps(content, sort_keys=True))
