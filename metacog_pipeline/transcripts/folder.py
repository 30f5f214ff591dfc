"""The folder of one partition and the manifest in it."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from metacog_pipeline.errors import StoreError, one_line
from metacog_pipeline.files import sha256_hex, write_text
from metacog_pipeline.home import Home
from metacog_pipeline.llm.spec import SLUG_PATTERN

MANIFEST_NAME = "partition.json"
CHECKSUM, LAYOUT = "sha256", 2  # of the other fields of a manifest; manifests of layout 1 have neither
_SLUG = re.compile(SLUG_PATTERN.rstrip("$"))
_COUNTS = {"n_expected", "n_answered", "n_failed", "n_unusable"}
JUDGEMENTS = "_judgements"  # a judge's partitions stand under the name of its benchmark with this ending


def partition_folder(home: Home, benchmark: str, model: str, run: int) -> Path:
    """Return where the answers of one partition are kept under the study's ``home``.

    Raises ``StoreError`` for a benchmark or model that is not a slug, or a run below 1: each is a folder's name.
    """
    for what, value in (("benchmark", benchmark), ("model", model)):
        if not _SLUG.fullmatch(value):
            raise StoreError(
                f"{what} {value!r} cannot name a folder: use a-z, 0-9, '.', '_', '-', at most 64"
            )
    if run < 1:
        raise StoreError(f"run {run} of {model} cannot name a folder: runs count from 1")
    return home.transcripts / f"benchmark={benchmark}" / f"model={model}" / f"run={run}"


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
        state = path.stat()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise _unreadable(path, error) from error
    return dict(_content(path, (state.st_ino, state.st_mtime_ns, state.st_ctime_ns, state.st_size)))


@functools.lru_cache(maxsize=4096)  # each state that is told looks at all manifests of a study several times
def _content(path: Path, state: tuple[int, ...]) -> Mapping[str, object]:
    try:
        content = json.loads(path.read_bytes())
        if not isinstance(content, dict):
            raise ValueError("not a JSON object")
        layout, checksum = content.pop("layout", None), content.pop(CHECKSUM, None)
        # One of version 0.2 and before has neither; no single damage takes both.
        if (layout, checksum) != (None, None) and (layout, checksum) != (LAYOUT, _checksum(content)):
            raise ValueError("its checksum says that it changed")
        _refuse_misfits(content)
        if isinstance(content.get("message"), str):  # it is printed, and may hold words of a provider
            content["message"] = one_line(content["message"])
        return content
    except FileNotFoundError:
        return {}
    except (ValueError, RecursionError):
        said = f"{path} is damaged; metacog run makes it anew and asks nothing that is answered"
        return {"state": "failed", "message": said}
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> StoreError:
    return StoreError(f"{path} cannot be read ({error.strerror}): check its permissions and the disk")


def _refuse_misfits(content: Mapping[str, object]) -> None:
    """Raise ValueError where a field of an old manifest, which has no checksum, is none that was ever written."""
    for name in _COUNTS & content.keys():
        count = content[name]
        if count is not None and not (type(count) is int and 0 <= count < 2**63):
            raise ValueError(f"{name} is no count")
    for name in ("started_at", "finished_at"):
        if content.get(name) is not None:
            datetime.fromisoformat(str(content[name]))
    if not isinstance(content.get("state", ""), str):
        raise ValueError("state is no word")


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
