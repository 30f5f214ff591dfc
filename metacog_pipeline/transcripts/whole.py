"""Records kept together: one journal segment that is there whole or not at all.

Answers that are asked come one by one and are acknowledged one by one (`journal`). Those of a file are there already: they
are written beside the journals, brought to the disk, and become a segment by a rename.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from json.encoder import encode_basestring_ascii
from operator import attrgetter
from pathlib import Path

from metacog_pipeline.checksums import seal, without_seal
from metacog_pipeline.errors import StoreError
from metacog_pipeline.files import replacing
from metacog_pipeline.transcripts.lines import FIELDS, encode_line
from metacog_pipeline.transcripts.lock import writing
from metacog_pipeline.transcripts.schema import Record
from metacog_pipeline.transcripts.segments import segment_name, segment_number, segments

# What differs between the answers of one file; the rest of a line is written once and used again.
_VARYING = ("answer_id", "item_id", "item_hash", "condition", "step", "text")
_HELD = 4096  # lines held at once
_varying = attrgetter(*_VARYING)
_constant = attrgetter(*(name for name in FIELDS if name not in _VARYING))


def keep_whole(folder: Path, records: Sequence[Record]) -> None:
    """Keep ``records`` in a partition's folder: all of them or, whatever happens, none.

    Raises
    ------
    StoreError
        When the folder is held by another process or cannot be written.
    """
    if not records:
        return
    with writing(folder):
        try:
            for abandoned in folder.glob(".journal-*.tmp"):  # of a process that was killed while it wrote
                abandoned.unlink()
            existing = segments(folder)
            path = folder / segment_name(segment_number(existing[-1]) + 1 if existing else 1)
            with replacing(path) as temporary, temporary.open("wb") as out:
                for lines in _batches(records):
                    out.write(lines)
        except OSError as error:
            raise StoreError(
                f"cannot write to {folder}: {error.strerror or error}: free space or mend the disk and import again; "
                "nothing of the file was kept"
            ) from error


def _batches(records: Sequence[Record]) -> Iterator[bytes]:
    for start in range(0, len(records), _HELD):
        yield b"".join(encoded(records[start : start + _HELD]))


def encoded(records: Sequence[Record]) -> Iterator[bytes]:
    """Yield the line of each record, as `lines.encode_line` makes it."""
    pieces, constant = _template(records[0]) if records else ((), ())
    for record in records:
        texts = [encode_basestring_ascii(value) for value in _varying(record)]
        if _constant(record) != constant or any("\\ud" in text for text in texts):
            yield encode_line(record)
            continue
        line = [part for pair in zip(pieces, texts, strict=False) for part in pair]
        yield seal("".join([*line, pieces[-1]]).encode("ascii"))


def _template(record: Record) -> tuple[tuple[str, ...], tuple[object, ...]]:
    """Return a line of ``record`` cut where its varying fields stand, and the values of all others."""
    rest = without_seal(encode_line(record)).decode("utf-8", "surrogatepass")
    pieces = []
    for name, value in zip(_VARYING, _varying(record), strict=True):
        before, found, after = rest.partition(f'"{name}":')
        own = encode_basestring_ascii(value)
        if not found or not after.startswith(own):
            return ("",), ()  # no line is made from it
        pieces.append(before + found)
        rest = after[len(own) :]
    return (*pieces, rest), _constant(record)
