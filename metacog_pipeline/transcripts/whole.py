"""Records kept together: one journal segment that is there whole or not at all.

Answers that are asked come one by one and are acknowledged one by one (`journal`). Those of a file are there already: they
are written beside the journals, brought to the disk, and become a segment by a rename.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from json.encoder import encode_basestring_ascii
from operator import attrgetter
from typing import overload

import polars as pl

from metacog_pipeline.checksums import seal, without_seal
from metacog_pipeline.errors import StoreError
from metacog_pipeline.files import replacing, sha256_hex
from metacog_pipeline.transcripts.folder import PartitionFolder
from metacog_pipeline.transcripts.lines import FIELDS, encode_line, reads_back
from metacog_pipeline.transcripts.lock import writing
from metacog_pipeline.transcripts.schema import Record
from metacog_pipeline.transcripts.segments import MOST_AT_HAND, newest, note, segment_name

# What differs between the answers of one file; the rest of a line is written once and used again.
_VARYING = ("answer_id", "item_id", "item_hash", "condition", "step", "text")
_HELD = 4096  # lines held at once
_varying = attrgetter(*_VARYING)
_constant = attrgetter(*(name for name in FIELDS if name not in _VARYING))


@dataclass(frozen=True, eq=False)
class Alike(Sequence[Record]):
    """Records of one file that differ in item and text only, made when they are asked for; lines are made without them.

    ``first``: one of them. ``items``, ``hashes``, ``answer``: of each: item, its hash, and which of ``texts`` it is.
    ``begin``, ``ends``: what an identity (`~..asking.imported.identified`) holds before the item, and by text after it.
    ``also``: records of the same file that differ in more.
    """

    first: Record
    items: pl.Series
    hashes: pl.Series
    answer: pl.Series
    texts: Sequence[str]
    begin: str
    ends: Sequence[str]
    also: Sequence[Record] = ()

    def __len__(self) -> int:
        return len(self.items) + len(self.also)

    @overload
    def __getitem__(self, at: int) -> Record: ...
    @overload
    def __getitem__(self, at: slice) -> list[Record]: ...
    def __getitem__(self, at: int | slice) -> Record | list[Record]:
        if isinstance(at, slice):
            return [self[each] for each in range(*at.indices(len(self)))]
        at = range(len(self))[at]
        if at >= len(self.items):
            return self.also[at - len(self.items)]
        item, number = self.items[at], self.answer[at]
        answer_id = sha256_hex(f"{self.begin}{encode_basestring_ascii(item)},{self.ends[number]}")
        return replace(
            self.first,
            answer_id=answer_id,
            item_id=item,
            item_hash=self.hashes[at],
            text=self.texts[number],
        )

    def lines(self) -> Iterator[bytes]:
        """Yield the lines of some records at a time."""
        pieces, _ = _template(self.first)
        tails = [self._tail(pieces, text) for text in self.texts]
        for start in range(0, len(self.items), _HELD):
            parts = (each[start : start + _HELD].to_list() for each in (self.items, self.hashes, self.answer))
            made = []
            for at, (item, item_hash, number) in enumerate(zip(*parts, strict=True), start):
                name = encode_basestring_ascii(item)
                if tails[number] is None or "\\ud" in name:
                    made.append(encode_line(self[at]))
                    continue
                answer_id = sha256(f"{self.begin}{name},{self.ends[number]}".encode()).hexdigest()
                line = f'{pieces[0]}"{answer_id}"{pieces[1]}{name}{pieces[2]}"{item_hash}"{tails[number]}'
                made.append(seal(line.encode("ascii")))
            yield b"".join(made)
        yield from _batches(self.also)

    def _tail(self, pieces: Sequence[str], text: str) -> str | None:
        said = [encode_basestring_ascii(each) for each in (self.first.condition, self.first.step, text)]
        if len(pieces) < len(_VARYING) or any("\\ud" in each for each in said):
            return None
        return "".join(part for pair in zip(pieces[3:], said, strict=False) for part in pair) + pieces[-1]


def said(records: Sequence[Record]) -> Iterator[tuple[tuple[str, str, str], str]]:
    """Yield item, condition and step of each record, and its text; none is made for it."""
    if isinstance(records, Alike):
        own, texts = records.first, records.texts
        for item, number in zip(records.items.to_list(), records.answer.to_list(), strict=True):
            yield (item, own.condition, own.step), texts[number]
    for each in records.also if isinstance(records, Alike) else records:
        yield (each.item_id, each.condition, each.step), each.text


def keep_whole(folder: PartitionFolder, records: Sequence[Record]) -> None:
    """Keep ``records`` in a partition's folder: all of them or, whatever happens, none.

    Raises ``StoreError`` when the folder is held by another process or cannot be written.
    """
    if not records:
        return
    with writing(folder):
        try:
            for abandoned in folder.path.glob(".journal-*.tmp"):  # of a process killed while it wrote
                abandoned.unlink()
            path = folder / segment_name(newest(folder) + 1)
            noted = None if isinstance(records, Alike) else _Noted()
            with replacing(path) as temporary, temporary.open("wb") as out:
                for lines in records.lines() if isinstance(records, Alike) else _batches(records, noted):
                    out.write(lines)
            if noted is not None and noted.good:
                note(path, noted.digest.hexdigest(), records, noted.lengths)
        except OSError as error:
            raise StoreError(
                f"cannot write to {folder}: {error.strerror or error}: free space or mend the disk and import again; "
                "nothing of the file was kept"
            ) from error


class _Noted:
    """What is written: digest, lengths of lines, and whether reading them back gives the records that they were made of."""

    def __init__(self) -> None:
        self.digest, self.lengths, self.size, self.good = sha256(), list[int](), 0, True

    def see(self, lines: Sequence[bytes], same: bool) -> bytes:
        """Take note of some lines and return them as one."""
        content = b"".join(lines)
        self.size += len(content)
        self.good = self.good and same and self.size <= MOST_AT_HAND
        if self.good:
            self.digest.update(content)
            self.lengths += map(len, lines)
        return content


def _batches(records: Sequence[Record], noted: _Noted | None = None) -> Iterator[bytes]:
    for start in range(0, len(records), _HELD):
        some = records[start : start + _HELD]
        found = [*encoded(some)]
        lines = [line for line, _ in found]
        if noted is None:
            yield b"".join(lines)
        else:
            same = noted.good and all(
                alike or reads_back(record, line) for record, (line, alike) in zip(some, found, strict=True)
            )
            yield noted.see(lines, same)


def encoded(records: Sequence[Record]) -> Iterator[tuple[bytes, bool]]:
    """Yield the line of each record, and whether it is known to read back as the record because the first one does."""
    pieces, constant = _template(records[0]) if records else ((), ())
    kinds = [*map(type, constant)]  # 1 is not 1.0, though equal
    known = bool(pieces) and reads_back(records[0], encode_line(records[0]))
    for record in records:
        texts = [encode_basestring_ascii(value) for value in _varying(record)]
        same = _constant(record)
        if same != constant or any("\\ud" in text for text in texts):
            yield encode_line(record), False
            continue
        line = [part for pair in zip(pieces, texts, strict=False) for part in pair]
        content = seal("".join([*line, pieces[-1]]).encode("ascii"))
        yield content, known and [*map(type, same)] == kinds


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
