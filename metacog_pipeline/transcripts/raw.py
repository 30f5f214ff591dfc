"""The body of a reply as it is kept: base64 of zstd, in the column ``raw_zstd`` of models with ``keep_raw = true``."""

from __future__ import annotations

import base64

import pyarrow as pa

MAX_BYTES = 64 * 2**20  # no provider's reply is larger; more is not unpacked, whatever a file claims


def compressed(body: bytes | None) -> str | None:
    """Return ``body`` as the column holds it; None where none was kept."""
    if body is None:
        return None
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(body)
    return base64.b64encode(sink.getvalue()).decode("ascii")


def body_of(column: str | None) -> bytes | None:
    """Return the body of the reply that ``column`` holds; None where none was kept. Raises ``ValueError``."""
    if column is None:
        return None
    try:
        packed = base64.b64decode(column, validate=True)
        if not packed:
            raise ValueError("it is empty")
        with pa.CompressedInputStream(pa.BufferReader(packed), "zstd") as stream:
            body: bytes = stream.read(MAX_BYTES + 1)
    except (ValueError, OSError) as error:
        raise ValueError(f"not the body of a reply as it is kept ({error})") from error
    if len(body) > MAX_BYTES:
        raise ValueError(f"the body of the reply is larger than {MAX_BYTES} bytes")
    return body
