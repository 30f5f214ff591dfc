"""Simulated observers give back the parameters they were made with, in text that the readers read."""

from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from metacog_pipeline.benchmark.contract import Call
from metacog_pipeline.benchmarks.selfknowledge.items import Item
from metacog_pipeline.benchmarks.selfknowledge.prompts import load_wording, messages
from metacog_pipeline.benchmarks.selfknowledge.read import matches, read_response
from metacog_pipeline.benchmarks.selfknowledge.simulated import SimulatedRespondent
from metacog_pipeline.llm.spec import ObserverSpec
from metacog_pipeline.llm.types import ChatRequest, Completion, Sampling
from metacog_pipeline.transcripts.lines import encode_logprobs
from tests.selfknowledge.conftest import abstains

N = 800
WORDS = load_wording()
Z = NormalDist().inv_cdf
NAMES = [f"thing of {number}." for number in range(N)]
MANY = [
    Item(
        item_id=f"i{n}", dataset="sample", split="all", position=n,
        questions=(("en", f"Who made {name}?"), ("es", f"¿Quién hizo {name}?")),
        answers=(("en", (f"maker {n:05d}",)), ("es", (f"autor {n:05d}",))),
    )
    for n, name in enumerate(NAMES)
]  # fmt: skip


def request(item: Item, condition: str, step: str, **sampling: Any) -> ChatRequest:
    return ChatRequest(messages(item, condition, step, WORDS), Sampling(**sampling))


def text(said: str | Completion) -> str:
    return said.text if isinstance(said, Completion) else said


def asked(observer: ObserverSpec, condition: str = "dual") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return who was right, who said yes (NaN: neither), and D."""
    respond = SimulatedRespondent(MANY, observer, WORDS)
    right, yes, shares = [], [], []
    for item in MANY:
        meta = respond(request(item, condition, "meta", top_logprobs=5))
        assert isinstance(meta, Completion)
        calls = {
            "direct": Call("ok", text(respond(request(item, condition, "direct")))),
            "meta": Call("ok", meta.text, logprobs_json=encode_logprobs(meta.logprobs)),
        }
        row = read_response(item, condition, calls, rule="entities", yes_no="default", wording=None)
        right.append(row.correct == 1)
        yes.append(np.nan if row.yes is None else row.yes)
        shares.append(np.nan if row.confidence is None else row.confidence)
    return np.array(right), np.array(yes, float), np.array(shares)


@pytest.mark.parametrize(
    ("accuracy", "d", "bias"),
    [
        (0.4, 2.0, 0.6),
        *(pytest.param(*each, marks=pytest.mark.proof) for each in ((0.7, 1.0, 0.0), (0.6, 0.0, -0.4))),
    ],
)
def test_accuracy_d_and_bias_come_back(accuracy, d, bias):
    right, yes, shares = asked(ObserverSpec(accuracy=accuracy, d_type2=d, yes_bias=bias, untidiness=0.2))
    read = ~np.isnan(yes)
    assert right.mean() == pytest.approx(accuracy, abs=0.03)
    h, f = yes[read & right].mean(), yes[read & ~right].mean()
    assert Z(h) - Z(f) == pytest.approx(d, abs=0.2)
    assert (Z(h) + Z(f)) / 2 == pytest.approx(bias, abs=0.12)
    told = read & ~np.isnan(shares)
    assert ((shares[told] > 0.5) == (yes[told] == 1)).all()
    area = (shares[told & right][:, None] > shares[told & ~right][None]).mean()
    assert area == pytest.approx(NormalDist().cdf(d / 2**0.5), abs=0.04)


def test_leave_to_abstain_is_taken_where_a_no_would_be_said():
    respond = SimulatedRespondent(MANY, ObserverSpec(accuracy=0.5, d_type2=2.0, untidiness=0.3), WORDS)
    said = [text(respond(request(item, "idk", "idk"))) for item in MANY]
    withheld = np.array([abstains(reply) for reply in said])
    right = np.array([matches(reply, item.accepted()) for reply, item in zip(said, MANY, strict=True)])
    assert withheld.mean() == pytest.approx(0.5, abs=0.05)
    assert right[~withheld].mean() == pytest.approx(NormalDist().cdf(1.0), abs=0.04)
