"""Answers that cannot be used: said by the command, the graph, the board; asked again on request, the old ones kept."""

from typing import Any

import pytest

from metacog_pipeline.asking.endings import REASK, UNUSABLE
from metacog_pipeline.llm.types import ChatRequest, Completion, Status, Usage
from metacog_pipeline.transcripts.store import PartitionFolder, read_partition
from tests.simulated_server import ServerThread


class Moody:
    """A provider whose model is cut before its answer on every call that ``cut`` names, by its number from 1."""

    def __init__(self, respondent: Any) -> None:
        self.respondent = respondent
        self.calls = 0
        self.cut = frozenset[int]()

    def respond(self, name: str, request: ChatRequest) -> str | Completion:
        self.calls += 1
        if self.calls in self.cut:
            return Completion(Status.TRUNCATED, "", finish_reason="length", usage=Usage(20, 64))
        return str(self.respondent(request))


@pytest.fixture
def moody(respondent, monkeypatch):
    monkeypatch.setenv(REASK, "")  # given back, whatever the launcher sets
    yield Moody(respondent)


def test_what_cannot_be_used_is_said_everywhere_and_asked_again_on_request(
    bench, simulated, moody, capfd, monkeypatch
):
    with ServerThread(moody.respond) as server:
        bench.write(simulated("m", base_url=f"{server.url}/v1", max_concurrency=1))
        moody.cut = frozenset({2, 3, 5, 6})
        assert bench.launch() == 7
        err = capfd.readouterr().err
        named = [line for line in err.splitlines() if line.startswith("metacog: ")]
        assert len(named) == 1
        assert "4 of 6 items have no usable answer" in named[0]
        assert "--reask unusable" in named[0]
        assert bench.sql("select state, n_answered, n_unusable from progress") == [("incomplete", 6, 4)]
        [(message,)] = bench.sql("select message from progress")
        assert "raise thinking_tokens" in str(message)

        assert bench.launch() == 7  # nothing is asked again unless it is wished
        assert moody.calls == 6
        monkeypatch.setenv(REASK, UNUSABLE)
        assert bench.launch() == 0
        assert moody.calls == 10
        assert bench.sql("select state, n_unusable from progress") == [("complete", 0)]
    rows = read_partition(
        PartitionFolder(bench.home, "metamedqa", "m", 1), ["text", "superseded"]
    ).to_pylist()
    assert sorted(row["superseded"] for row in rows) == [False] * 6 + [True] * 4
    assert all(not row["text"] for row in rows if row["superseded"])
