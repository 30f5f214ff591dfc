"""Server-sent events: the bytes of a stream become the data of its events.

Total: every sequence of bytes is read, whatever it holds, and lines end with LF, CRLF or CR. All of it is done in
bytes, so that a character cut by the network is whole again before anybody decodes it. Event names, ids and retry
times are left out, because every provider's data says what it is. Memory is that of the longest event: whoever feeds
it bounds the bytes.
"""

from __future__ import annotations

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")  # what a stream can begin with


def looks_like_events(start: bytes, content_type: str) -> bool:
    """Return whether a reply that begins with ``start`` is a stream of events, whatever it calls itself.

    JSON and HTML never are: servers answer a request for a stream with a plain body under either type.
    """
    begins = start.removeprefix(BYTE_ORDER_MARK).lstrip()
    if begins[:1] in (b"{", b"[", b"<"):
        return False
    return "event-stream" in content_type.lower() or begins.startswith(FIELDS)


class EventReader:
    """Takes a stream in pieces and gives the data of every event that has ended."""

    __slots__ = ("_after_cr", "_data", "_rest", "_started")

    def __init__(self) -> None:
        self._rest = bytearray()  # a line whose end has not come
        self._data: list[bytes] = []  # the data lines of the event under way
        self._after_cr = False
        self._started = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take the next piece of the stream; return the data of the events that end in it, without empty ones."""
        if self._after_cr and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._after_cr = False
        cut = max(chunk.rfind(b"\n"), chunk.rfind(b"\r")) + 1
        if cut == 0:
            self._rest += chunk
            return []
        whole = chunk[:cut]
        if self._rest:
            whole = bytes(self._rest) + whole
            self._rest.clear()
        self._rest += chunk[cut:]
        self._after_cr = whole.endswith(b"\r")
        return self._events(whole.splitlines())

    def close(self) -> list[bytes]:
        """Return the data of an event that the stream ended with but did not close."""
        lines = [bytes(self._rest), b""] if self._rest else [b""]
        self._rest.clear()
        return self._events(lines)

    def _events(self, lines: list[bytes]) -> list[bytes]:
        if not self._started:
            self._started = True
            lines[0] = lines[0].removeprefix(BYTE_ORDER_MARK)
        found: list[bytes] = []
        for line in lines:
            if line.startswith(b"data:"):
                self._data.append(line[6:] if line.startswith(b" ", 5) else line[5:])
            elif not line and self._data:
                data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
                self._data = []
                if data:
                    found.append(data)
        return found
