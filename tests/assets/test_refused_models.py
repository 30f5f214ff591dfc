"""A row of the study that cannot be asked: one line that says what, where and what to do; nothing kept is lost."""

from metacog_pipeline.home import Home
from metacog_pipeline.llm.types import ChatRequest
from metacog_pipeline.transcripts.store import PartitionFolder, kept_records
from tests.simulated_server import ServerThread

KEY = "sk-test-0123456789abcdef"
MOST_CALLS = 5


def good_answers(home: Home) -> int:
    records = kept_records(PartitionFolder(home, "metamedqa", "m", 1))
    return sum(record.status == "ok" for record in records)


def test_a_model_that_cannot_be_asked_is_one_line_and_goes_on_once_it_is_mended(
    bench, simulated, respondent, monkeypatch, capfd
):
    def respond(name: str, request: ChatRequest) -> str:
        return str(respondent(request))

    with ServerThread(respond, profile="openai", models=("x",), key=KEY) as server:
        row = {"base_url": f"{server.url}/v1", "model": "x", "api_key_env": "KEY_OF_A_TEST"}
        monkeypatch.setenv("KEY_OF_A_TEST", KEY)
        bench.write(simulated("m", **row), limit=3)
        assert bench.launch() == 0
        assert good_answers(bench.home) == 3
        for broken, key, says in (
            ({}, "", ("KEY_OF_A_TEST", "is set but empty")),
            ({"effort": "high"}, KEY, ('effort = "high"', "model m")),
        ):
            monkeypatch.setenv("KEY_OF_A_TEST", key)
            bench.write(simulated("m", **{**row, **broken}))
            before = int(str(server.stats["received"]))
            capfd.readouterr()
            assert bench.launch() != 0
            assert int(str(server.stats["received"])) - before <= MOST_CALLS
            err = capfd.readouterr().err
            [line] = [line for line in err.splitlines() if line.startswith("metacog: ")]
            for part in says:
                assert part in line
            assert KEY not in err
            assert "Traceback" not in err
            assert good_answers(bench.home) == 3

        monkeypatch.setenv("KEY_OF_A_TEST", KEY)
        bench.write(simulated("m", **row))
        assert bench.launch() == 0
        assert good_answers(bench.home) == 6
