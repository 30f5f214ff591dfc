"""A byte that changed on the disk is noticed wherever it stands; lines without a checksum are read as before."""

import json
import random

import pytest

from metacog_pipeline.checksums import is_sealed, seal
from metacog_pipeline.errors import StoreError
from metacog_pipeline.transcripts.folder import PartitionFolder
from metacog_pipeline.transcripts.lines import decode_line, encode_line
from metacog_pipeline.transcripts.schema import Record
from tests.partitions import read_records, without_seal

FLIPS = 500


def _read(folder: PartitionFolder, content: bytes) -> list[Record]:
    (folder / "journal-000001.jsonl").write_bytes(content)
    return list(read_records(folder))


def test_a_line_is_json_whose_last_field_is_the_checksum_of_what_stands_before_it(make):
    line = encode_line(make(1, text="é\ud800"))
    assert is_sealed(line) and list(json.loads(line))[-1] == "crc32"
    assert seal(without_seal(line)) == line


def test_a_line_of_before_has_no_checksum_and_is_read(make):
    old = without_seal(encode_line(make(1)))
    assert not is_sealed(old) and decode_line(old + b"\n") == make(1)


def test_no_flipped_bit_changes_what_is_read_without_a_word(folder, make):
    records = [
        make(n, text=text) for n, text in enumerate(("B", "of two  words @", "é \ud800", "x" * 300, ""))
    ]
    content = b"".join(map(encode_line, records))
    draw = random.Random(1)
    refused = 0
    for place in draw.sample(range(8 * len(content)), FLIPS):
        flipped = bytearray(content)
        flipped[place // 8] ^= 1 << place % 8
        try:
            assert _read(folder, bytes(flipped)) == records, f"bit {place}"
        except StoreError:
            refused += 1
    assert refused == FLIPS


@pytest.mark.parametrize("bit", range(8))
def test_the_last_newline_is_guarded_too(folder, make, bit):
    content = bytearray(encode_line(make(1)) + encode_line(make(2)))
    content[-1] ^= 1 << bit
    with pytest.raises(StoreError, match="line 2"):
        _read(folder, bytes(content))


@pytest.mark.parametrize("letter", "@ ")
def test_a_letter_that_became_nul_is_damage_and_not_a_block_that_was_never_written(folder, make, letter):
    line = encode_line(make(1, text="a@b c")).replace(letter.encode(), b"\0", 1)
    with pytest.raises(StoreError, match="checksum"):
        _read(folder, line)


def test_blocks_of_a_last_line_that_never_reached_the_disk_are_passed_over(folder, make):
    first, last = encode_line(make(1)), encode_line(make(2, text="y" * 2000))
    assert _read(folder, first + last[:512] + b"\0" * 512 + last[1024:]) == [make(1)]
