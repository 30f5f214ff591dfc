import json

from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.llm.sse import EventReader, looks_like_events
from tests.tables import every


def read(stream: bytes, *cuts: int) -> list[bytes]:
    reader, found, start = EventReader(), [], 0
    for cut in (*sorted(cuts), len(stream)):
        found += reader.feed(stream[start:cut])
        start = cut
    return found + reader.close()


@every("end", [b"\n", b"\r\n", b"\r"])
@every(
    ("stream", "events"),
    [
        (b"data: a\n\ndata: b\n\n", [b"a", b"b"]),
        (b"data:a\n\n", [b"a"]),
        (b"data:  a \n\n", [b" a "]),
        (b"data: one\ndata: two\n\n", [b"one\ntwo"]),
        (b": keep-alive\n\ndata: a\n\n: keep-alive\n\n", [b"a"]),
        (b"event: delta\nid: 7\nretry: 10\ndata: a\n\n", [b"a"]),
        (b"data: no final newline", [b"no final newline"]),
        (b"data: one newline only\n", [b"one newline only"]),
        (b"\xef\xbb\xbfdata: a\n\n", [b"a"]),
        (b"data\n\ndata: \n\nnonsense\n\n\n\n", []),
        (b"", []),
    ],
)
def test_the_data_of_every_event_is_found_whatever_ends_a_line(stream, events, end):
    assert read(stream.replace(b"\n", end)) == events


@given(
    texts=st.lists(st.text(max_size=8), max_size=5),
    end=st.sampled_from([b"\n", b"\r\n", b"\r"]),
    cuts=st.lists(st.integers(0, 300), max_size=12),
)
@settings(max_examples=200)
def test_where_the_network_cuts_a_stream_changes_nothing(texts, end, cuts):
    """Cuts fall inside characters, inside line ends and between them."""
    events = [json.dumps(text, ensure_ascii=False).encode("utf-8", "surrogatepass") for text in texts]
    stream = b"".join(b": ping" + end + b"data: " + event + end + end for event in events)
    assert read(stream, *(cut for cut in cuts if cut < len(stream))) == events


@given(stream=st.binary(max_size=200), cuts=st.lists(st.integers(0, 200), max_size=6))
@settings(max_examples=200)
def test_any_bytes_are_read(stream, cuts):
    assert read(stream, *(cut for cut in cuts if cut < len(stream))) == read(stream)


def test_one_line_of_ten_million_bytes_in_small_pieces_is_one_event():
    reader, found = EventReader(), []
    found += reader.feed(b"data: ")
    for _ in range(10_000):
        found += reader.feed(b"x" * 1000)
    found += reader.feed(b"\n\n")
    assert [len(event) for event in found] == [10_000_000]


@every(
    ("start", "content_type", "stream"),
    [
        (b"data: {", "text/event-stream; charset=utf-8", True),
        (b": ping", "text/plain", True),
        (b"data: {", "", True),
        (b"event: message_start", "application/json", True),
        (b'{"choices"', "text/event-stream", False),
        (b"\n [", "text/event-stream", False),
        (b"<html>", "text/event-stream", False),
        (b'{"choices"', "application/json", False),
        (b"nonsense", "application/json", False),
    ],
)
def test_a_stream_is_told_from_a_plain_body_by_how_it_begins(start, content_type, stream):
    assert looks_like_events(start, content_type) is stream
