"""Reading a source of labelled sentences: SST-2's Parquet file, or lines of label, tab, sentence. Every row is checked."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from metacog_pipeline.errors import SourceError
from metacog_pipeline.sources import MAX_SOURCE_BYTES, read_bytes

_PARQUET_COLUMNS = {"sentence": pa.string(), "label": pa.int64()}


@dataclass(frozen=True, slots=True)
class Texts:
    """The rows of a source in file order: labels 0 or 1, and sentences exactly as they stand there."""

    name: str
    labels: Sequence[int]
    sentences: Sequence[str]

    def __len__(self) -> int:
        return len(self.labels)


def read_table(path: Path, name: str, limit: int = MAX_SOURCE_BYTES) -> Texts:
    """Read a UTF-8 file of lines ``label<TAB>sentence`` without a header; ``.gz`` is unpacked.

    The sentence is all behind the first tab but the end of the line. Empty lines are skipped and are no rows.

    Raises SourceError with file and line: not UTF-8, no tab, a label other than 0 and 1, an empty sentence; or no row of
    a label.
    """
    labels: list[int] = []
    sentences: list[str] = []
    for number, raw in enumerate(io.BytesIO(read_bytes(path, limit)), start=1):
        line = _decoded(raw, path, number).rstrip("\r\n")
        if not line:
            continue
        label, tab, sentence = line.partition("\t")
        if not tab or label.strip() not in ("0", "1") or not sentence.strip():
            raise SourceError(
                f"{path}:{number}: expected 0 or 1, a tab and a sentence, found {line[:60]!r}; replace or mend the file"
            )
        labels.append(int(label))
        sentences.append(sentence)
    return _both_labels(Texts(name, labels, sentences), path)


def read_sst2(path: Path, name: str) -> Texts:
    """Read the Parquet file of SST-2: columns ``sentence`` and ``label``.

    Raises SourceError if it is no such file, or a label is not 0 or 1, or a sentence is empty.
    """
    try:
        table = pq.read_table(pa.BufferReader(read_bytes(path)), columns=list(_PARQUET_COLUMNS))
    except (OSError, KeyError, pa.ArrowException) as error:
        raise SourceError(f"{path}: not a readable Parquet file of SST-2 ({error}); replace it") from None
    for column, kind in _PARQUET_COLUMNS.items():
        if column not in table.column_names or table.schema.field(column).type != kind:
            raise SourceError(f"{path}: no column {column!r} of type {kind}; replace the file")
    labels, sentences = table["label"].to_pylist(), table["sentence"].to_pylist()
    for row, (label, sentence) in enumerate(zip(labels, sentences, strict=True)):
        if label not in (0, 1) or not (sentence or "").strip():
            raise SourceError(
                f"{path}: row {row} has label {label!r} and sentence {sentence!r}; expected 0 or 1 and a text"
            )
    return _both_labels(Texts(name, labels, sentences), path)


def _decoded(raw: bytes, path: Path, number: int) -> str:
    try:
        return raw.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise SourceError(
            f"{path}:{number}: not UTF-8 ({error.reason}); convert a copy to UTF-8 and fetch it with --from DIR"
        ) from None


def _both_labels(texts: Texts, path: Path) -> Texts:
    for label in (0, 1):
        if label not in texts.labels:
            raise SourceError(f"{path}: no row has label {label}; replace the file")
    return texts
