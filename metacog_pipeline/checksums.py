"""A checksum within a line of JSON: the last field is the CRC-32 of all bytes before it.

It notices every change of up to two bits, and of any run of up to 32, anywhere in the line. The line stays JSON
that any tool reads.
"""

from __future__ import annotations

import zlib

_SEAL = b',"crc32":"%08x"}'
_SEAL_BYTES = len(_SEAL % 0)
_SEAL_BEGINS = _SEAL.partition(b"%")[0]


def seal(line: bytes) -> bytes:
    """Return a JSON object in one line with its checksum added as the last field, and a newline."""
    content = line[:-1]  # without the brace that closes it
    return content + _SEAL % zlib.crc32(content) + b"\n"


def is_sealed(line: bytes) -> bool:
    """Whether ``line`` (with or without its newline) carries a checksum. Raises ``ValueError`` where it is not its own."""
    content = line.removesuffix(b"\n")
    end = len(content) - _SEAL_BYTES
    if end < 0 or not content.startswith(_SEAL_BEGINS, end):
        return False
    if content[end:] != _SEAL % zlib.crc32(content[:end]):
        raise ValueError("its checksum says that it changed")
    return True
