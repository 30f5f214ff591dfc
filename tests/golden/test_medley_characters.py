"""Respondents of known character, asked the published instances under all conditions, are told apart by their scores."""

import asyncio
import json
import os
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from metacog_pipeline.benchmarks.medley.asking import ask_item
from metacog_pipeline.benchmarks.medley.instance_scores import score_instances
from metacog_pipeline.benchmarks.medley.items import CONDITIONS, DOMAINS, instance_from_published
from metacog_pipeline.benchmarks.medley.presentation import applicable
from metacog_pipeline.benchmarks.medley.profiles import CHARACTERS
from metacog_pipeline.benchmarks.medley.prompts import load_wording
from metacog_pipeline.benchmarks.medley.simulated import SimulatedRespondent
from metacog_pipeline.llm.spec import ModelSpec, ObserverSpec
from metacog_pipeline.llm.types import ChatRequest, Sampling, Status
from metacog_pipeline.querying.types import Answer
from tests.medley.bound import compared, estimated, read

HERE = Path(__file__).parent
DATA = Path(os.environ.get("METACOG_DATA") or HERE.parents[1].parent / "shared" / "data") / "medley" / "v1.0"


@pytest.fixture(scope="module")
def instances():
    if not DATA.is_dir():
        pytest.skip(f"{DATA} is absent: the published instances are needed")
    known, wrong, selected = (
        json.loads((DATA / f"{name}.json").read_text())
        for name in ("known_answers", "consensus_verified_wrong", "selection_metadata")
    )
    found = []
    for domain in DOMAINS:
        consensus = json.loads((DATA / "consensus" / f"{domain}.json").read_text())
        for given in json.loads((DATA / "instances" / f"{domain}.json").read_text()):
            name = given["instance_id"]
            found.append(
                instance_from_published(
                    given,
                    consensus.get(name),
                    verified_wrong=wrong.get(name, ()),
                    known_answer=known.get(name),
                    selected_models=selected[name]["selected_models"],
                    position=len(found),
                )
            )
    return found


def answers(instances, character, stripped):
    """All calls of one respondent, as transcripts."""
    words = load_wording()
    spec = ModelSpec(name=character, provider="simulated", observer=ObserverSpec(character=character, seed=1))
    respond = SimulatedRespondent(instances, spec.observer, words)
    rows = []

    async def ask_all():
        for condition in CONDITIONS:
            for item in applicable(instances, condition, stripped):

                async def ask(step, messages, *, item=item, condition=condition, constraint=None, **limits):
                    request = ChatRequest(tuple(messages), Sampling(seed=1), constraint)
                    text = respond(request)
                    rows.append(
                        {
                            "benchmark": "medley",
                            "model": character,
                            "run": 1,
                            "item_id": item.item_id,
                            "condition": condition,
                            "step": step,
                            "status": "ok",
                            "mode": "text",
                            "text": text,
                            "answer_id": f"{condition}/{item.item_id}/{step}",
                            "source": "simulated",
                            "started_at": datetime(2026, 1, 2, tzinfo=UTC),
                        }
                    )
                    return Answer(Status.OK, text)

                await ask_item(item, condition, "text", ask, words, spec)

    asyncio.run(ask_all())
    empty = ("input_tokens", "output_tokens", "cost_usd", "latency_s", "error_code", "error_message")
    return pl.DataFrame(rows).with_columns(pl.lit(None).alias(name) for name in empty)


@pytest.fixture(scope="module")
def scored(instances):
    stripped = [instance.item_id for instance in instances[:50]]
    observed = [
        read(
            instances,
            answers(instances, character, stripped),
            conditions=CONDITIONS,
            model=character,
            run=1,
            source="simulated",
            stripped=stripped,
        )
        for character in CHARACTERS
    ]
    return score_instances(pl.concat(observed), instances)


def test_every_character_is_recovered(scored):
    found = compared(scored, n_boot=100).filter(family="character")
    assert dict(found.select("model", "verdict").iter_rows()) == {name: name for name in CHARACTERS}


def test_silence_is_not_worth_half(scored):
    found = estimated(scored, n_boot=50).filter(model="silent", condition="normal")
    measures = dict(found.select("measure", "estimate").iter_rows())
    assert measures.pop("coverage") == 0.0
    assert set(measures.values()) == {None}


def test_arguments_move_the_follower_of_arguments_and_the_crowd_the_follower_of_crowds(scored):
    found = estimated(scored, n_boot=50).filter(measure="changed_from_normal")
    pull = {(row["model"], row["condition"]): row["estimate"] for row in found.to_dicts()}
    assert pull["argument-follower", "adversarial"] == 0
    assert pull["crowd-follower", "adversarial"] > 0.3
    assert pull["argument-follower", "stripped"] > 0.1
