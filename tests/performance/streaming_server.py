"""A provider that streams the same chat completion to everybody, as cheaply as it can be done, in a process of its own.

``streaming_server.py LATENCY_S CHUNKS GAP_S`` prints its address. The first of ``CHUNKS`` pieces of the answer leaves
after the latency, each further one, in a write of its own, a gap later; usage and the end follow the last.
"""

import asyncio
import json
import sys

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def event(**fields: object) -> bytes:
    """Return one event of a chat completion as a chunk of HTTP."""
    said = {"id": "chatcmpl-0123456789", "object": "chat.completion.chunk", "model": "bench", **fields}
    return chunk(b"data: " + json.dumps(said).encode() + b"\n\n")


def chunk(data: bytes) -> bytes:
    """Return ``data`` as a chunk of HTTP."""
    return b"%x\r\n%s\r\n" % (len(data), data)


def delta(finish: str | None = None, **said: object) -> bytes:
    """Return one piece of the answer."""
    return event(choices=[{"index": 0, "delta": said, "logprobs": None, "finish_reason": finish}])


class Answering(asyncio.Protocol):
    """One connection; requests come one after the other."""

    def __init__(self, latency_s: float, chunks: int, gap_s: float) -> None:
        self.latency_s, self.gap_s = latency_s, gap_s
        self.parts = [delta(content=f"word{number} ") for number in range(chunks)]
        usage = event(choices=[], usage={"prompt_tokens": 500, "completion_tokens": chunks})
        self.parts[0] = HEAD + self.parts[0]
        self.parts[-1] += delta("stop") + usage + chunk(b"data: [DONE]\n\n") + chunk(b"")
        self.received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.received += data
        head, end, body = self.received.partition(b"\r\n\r\n")
        if not end:
            return
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        if len(body) >= int(length.partition(b":")[2]):
            self.received = b""
            asyncio.get_running_loop().call_later(self.latency_s, self.write, 0)

    def write(self, number: int) -> None:
        """Send part ``number`` and see to the next."""
        if self.transport.is_closing():
            return
        self.transport.write(self.parts[number])  # type: ignore[attr-defined]
        if number + 1 < len(self.parts):
            asyncio.get_running_loop().call_later(self.gap_s, self.write, number + 1)


async def main() -> None:
    """Serve until the process is ended."""
    latency_s, chunks, gap_s = float(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Answering(latency_s, chunks, gap_s), "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
