"""The body of a reply comes back byte by byte; what is not one is refused in one line, however large it unpacks."""

import base64
import random

import pytest

from metacog_pipeline.transcripts import raw


@pytest.mark.parametrize(
    "body", [b"", b"\0\xff{}", random.Random(1).randbytes(100_000), "é\n".encode() * 50_000]
)
def test_a_body_comes_back_as_it_came(body):
    column = raw.compressed(body)
    assert column is not None and column.isascii() and raw.body_of(column) == body
    assert raw.compressed(None) is None and raw.body_of(None) is None


def test_what_is_no_body_is_refused(monkeypatch):
    whole = raw.compressed(b"hello " * 100)
    assert whole is not None
    for bad in ("", "!!", "é", whole[:-8], whole[:8], base64.b64encode(b"nonsense").decode()):
        with pytest.raises(ValueError, match="not the body of a reply"):
            raw.body_of(bad)
    monkeypatch.setattr(raw, "MAX_BYTES", 599)
    with pytest.raises(ValueError, match="larger than 599 bytes"):
        raw.body_of(whole)
