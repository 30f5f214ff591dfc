"""Every provider's rules, met at the README's settings: asked in a few calls, or one line that says what to change."""

from pathlib import Path
from typing import Any

import pytest

from metacog_pipeline.asking import construction
from metacog_pipeline.asking.negotiation import MOST_CALLS
from metacog_pipeline.asking.session import Partition, request_digest
from metacog_pipeline.asking.states import SessionResult
from metacog_pipeline.benchmarks.metamedqa import MetaMedQA
from metacog_pipeline.benchmarks.metamedqa.simulated import SimulatedRespondent
from metacog_pipeline.errors import MetacogError
from metacog_pipeline.llm import capabilities
from metacog_pipeline.llm.spec import ObserverSpec
from metacog_pipeline.llm.types import ChatRequest
from metacog_pipeline.scoring import files
from metacog_pipeline.study import load_study
from tests.asking_in_process import ask as answer
from tests.simulated_server import ServerThread
from tests.studies import metamedqa, write_study

ITEMS = 12
KEY = "sk-test-0123456789abcdef"
PROVIDERS = {"anthropic": "anthropic", "anthropic-budget": "anthropic", "gemini": "gemini"}
PROFILES = (
    "openai", "openai-reasoning", "proxy", "anthropic", "anthropic-budget", "gemini", "vllm", "vllm-old", "ollama",
    "llamacpp",
)  # fmt: skip


class Served:
    """A server of one profile whose model knows the questions of a study."""

    def __init__(self, folder: Path, profile: str, *, key: str | None = None) -> None:
        self.folder = folder
        self.profile = profile
        self.observer: SimulatedRespondent | None = None
        self.server = ServerThread(self._respond, profile=profile, models=("x",), key=key)

    def _respond(self, model: str, request: ChatRequest) -> str:
        return "yes" if self.observer is None else self.observer(request)

    @property
    def calls(self) -> int:
        return int(str(self.server.stats["received"]))

    def ask(self, model: str = "x", **more: Any) -> tuple[Partition, SessionResult]:
        row = {
            "name": "m",
            "provider": PROVIDERS.get(self.profile, "openai"),
            "model": model,
            "timeout_s": 20.0,
        }
        root = self.server.url + ("" if self.profile in PROVIDERS else "/v1")
        row |= {"base_url": root, "api_key_env": "KEY_OF_A_TEST", **more}
        path = write_study(self.folder, row, benchmarks=metamedqa(limit=ITEMS))
        study = load_study(path)
        study.prepare()
        benchmark = MetaMedQA.of(study)
        construction.build(benchmark)
        self.observer = SimulatedRespondent(benchmark.items, ObserverSpec(seed=5))
        partition = Partition(study, MetaMedQA.name, study.models[0], 1)
        return partition, answer(benchmark, partition)


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("KEY_OF_A_TEST", KEY)


@pytest.mark.parametrize("profile", PROFILES)
def test_every_provider_is_asked_at_the_default_settings_within_five_calls(tmp_path, profile):
    served = Served(tmp_path, profile)
    with served.server:
        partition, outcome = served.ask()
        calls = served.calls
        assert (outcome.stopped, outcome.complete, outcome.unusable) == (None, True, 0)
        assert outcome.tally.calls <= 2 * ITEMS + 2 + MOST_CALLS
        spec = partition.spec
        assert capabilities.load(partition.study.home, spec.name, request_digest(spec)) is not None
        assert served.ask()[1].complete and served.calls == calls
    assert files.read(MetaMedQA.of(partition.study), partition)["status"].is_in(["ok"]).all()


@pytest.mark.parametrize(
    ("profile", "changed", "key", "says"),
    [
        ("openai", {"temperature": 0.5}, "", ("KEY_OF_A_TEST", "is set but empty")),
        ("openai", {"temperature": 0.5}, "sk-another-0123456789", ("HTTP 401", "api_key_env")),
        ("gemini", {"temperature": 0.5}, "AIza-another-0123456789", ("HTTP 400", "api_key_env")),
        ("openai", {"model": "nobody-knows-it"}, KEY, ("HTTP 404", "check model")),
        ("proxy", {"model": "nobody-knows-it"}, KEY, ("HTTP 400", "check model")),
        ("openai", {"effort": "high"}, KEY, ('effort = "high"', "model m")),
        ("anthropic-budget", {"effort": "high"}, KEY, ('effort = "high"', "model m")),
    ],
)
def test_a_row_that_cannot_be_asked_is_one_line_and_nothing_kept_is_lost(
    tmp_path, monkeypatch, profile, changed, key, says
):
    served = Served(tmp_path, profile, key=KEY)
    with served.server:
        outcome = served.ask()[1]
        assert outcome.complete
        monkeypatch.setenv("KEY_OF_A_TEST", key)
        before = served.calls
        try:
            outcome = served.ask(**changed)[1]
            line, code = outcome.stopped, outcome.exit_code
        except MetacogError as error:
            line, code = str(error), error.exit_code
        assert served.calls - before <= MOST_CALLS
        assert code != 0
        assert "\n" not in line
        assert all(part in line for part in says), line
        monkeypatch.setenv("KEY_OF_A_TEST", KEY)
        before = served.calls
        assert served.ask()[1].complete
        assert served.calls - before <= MOST_CALLS + 1
