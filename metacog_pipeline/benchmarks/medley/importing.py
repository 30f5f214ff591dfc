"""The published analysts as respondents: their outputs, turned into answers to step A that a replayed model can be given.

An analyst answered the same question as a model in step A, alone and about the same case. So what it wrote can be kept
as an imported answer and read, judged and scored like any other step A; the two later steps were never asked of it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

from metacog_pipeline.benchmarks.medley.items import BENCHMARK, Analyst, Instance
from metacog_pipeline.benchmarks.medley.masking import NORMAL
from metacog_pipeline.benchmarks.medley.prompts import STEP_A
from metacog_pipeline.errors import StudyError
from metacog_pipeline.files import canonical_json, sha256_hex
from metacog_pipeline.transcripts.schema import Record

_PLACE = re.compile(r"Analyst ([A-Z])")
_SHOWN = 8


def analyst_names(items: Sequence[Instance]) -> Counter[str]:
    """Return the analysts of the instances by model, and how many instances each answered."""
    return Counter(name for item in items for name in {analyst.model_id for analyst in item.analysts})


def analyst_answers(items: Sequence[Instance], analyst: str, *, model: str, run: int = 1) -> list[Record]:
    """Return one imported answer to step A for each instance the analyst answered.

    Parameters
    ----------
    items
        The instances of the study, with their analysts as the data has them.
    analyst
        A model of `analyst_names`; or ``Analyst A``, ``Analyst B``, … for whoever stands in that place, so that eight
        such respondents cover all analysts of all instances.
    model, run
        What the answers are kept under; hand them to `querying.session.keep_imported`.

    Raises
    ------
    StudyError
        When no instance has that analyst.
    """
    found = [(item, one) for item in items if (one := _chosen(item, analyst)) is not None]
    if not found:
        known = [name for name, _ in analyst_names(items).most_common()]
        more = f" and {len(known) - _SHOWN} more" if len(known) > _SHOWN else ""
        raise StudyError(
            f"medley: no instance has the analyst {analyst!r}; there are Analyst A, Analyst B, … by place, and "
            f"{', '.join(known[:_SHOWN]) or 'none by model'}{more}"
        )
    return [_record(item, one, model, run) for item, one in found]


def _chosen(item: Instance, analyst: str) -> Analyst | None:
    by_name = next((one for one in item.analysts if one.model_id == analyst), None)
    by_place = _PLACE.fullmatch(analyst)
    if by_name is not None or by_place is None:
        return by_name
    place = ord(by_place[1]) - ord("A")
    return item.analysts[place] if place < len(item.analysts) else None


def _record(item: Instance, analyst: Analyst, model: str, run: int) -> Record:
    text = json.dumps(analyst.response, ensure_ascii=False)
    identity = [BENCHMARK, model, run, item.instance_id, NORMAL, STEP_A, text, "import"]
    return Record(
        answer_id=sha256_hex(canonical_json(identity)),
        benchmark=BENCHMARK,
        model=model,
        run=run,
        item_id=item.item_id,
        item_hash=item.item_hash,
        condition=NORMAL,
        step=STEP_A,
        source="imported",
        provider="replay",
        model_id=analyst.model_id,
        model_reported=None,
        mode="import",
        request_json="{}",
        status="ok",
        text=text,
        finish_reason=None,
        logprobs_json=None,
        input_tokens=None,
        output_tokens=None,
        cost_usd=None,
        attempts=0,
        started_at=datetime.now(UTC),
        latency_s=0.0,
        http_status=None,
        error_kind=None,
        error_code=None,
        error_message=None,
    )
