"""``eee``: Every Eval Ever: for each benchmark and model a file of scores, and one of single results."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

from metacog_pipeline import __version__
from metacog_pipeline.benchmark.bound import Bound
from metacog_pipeline.exporting.facts import Facts, sources
from metacog_pipeline.exporting.samples import Sample, estimates, grouped
from metacog_pipeline.files import sha256_hex

SCHEMA = "0.3.0"


def write(facts: Facts, folder: Path) -> str:
    """Write scores and single results of every benchmark and model."""
    rows = [_write(facts, benchmark, own, folder) for benchmark, own in grouped(facts, "model")]
    return f"{len(rows)} files of scores, {sum(rows):,} single results"


def _write(facts: Facts, benchmark: Bound, own: list[Sample], folder: Path) -> int:
    model, name = own[0].model, own[0].name
    seen = f"{facts.about()['snapshot']} {benchmark.name} {model}"
    unique = uuid.UUID(bytes=bytes.fromhex(sha256_hex(seen))[:16], version=4)
    last = f"{max(time for each in own for time in each.times).timestamp():.0f}"
    place = f"data/{benchmark.name}/{name.split('/')[0]}/{model}"
    evaluation = f"{benchmark.name}/{name}/{last}"
    urls = [url for each in sources(benchmark) for url in each.urls]
    data = {"dataset_name": benchmark.name} | (
        {"source_type": "url", "url": urls} if urls else {"source_type": "other"}
    )
    lines = [_line(each, evaluation) for each in own]
    text = "".join(json.dumps(each, sort_keys=True) + "\n" for each in lines)
    (folder / place).mkdir(parents=True)
    (folder / place / f"{unique}_samples.jsonl").write_text(text, encoding="utf-8")
    summary = {
        "schema_version": SCHEMA,
        "evaluation_id": evaluation,
        "evaluation_timestamp": last,
        "retrieved_timestamp": last,
        "source_metadata": {
            "source_name": "metacog_pipeline", "source_type": "evaluation_run",
            "source_organization_name": "unknown", "evaluator_relationship": "other",
        },
        "eval_library": {"name": "metacog_pipeline", "version": __version__},
        "model_info": {
            "name": model, "id": name, "developer": name.split("/")[0],
            "additional_details": {"deployment_type": "unknown", "model_availability": "unknown"},
        },
        "evaluation_results": [_score(row, benchmark, data) for row in estimates(facts, benchmark, model)],
        "detailed_evaluation_results": {
            "format": "jsonl", "file_path": f"{place}/{unique}_samples.jsonl", "hash_algorithm": "sha256",
            "checksum": sha256_hex(text), "total_rows": len(lines),
        },
    }  # fmt: skip
    written = json.dumps(summary, indent=1, sort_keys=True) + "\n"
    (folder / place / f"{unique}.json").write_text(written, encoding="utf-8")
    return len(lines)


def _score(row: dict[str, Any], benchmark: Bound, data: dict[str, Any]) -> dict[str, Any]:
    uncertainty: dict[str, Any] = {"num_samples": row["n"]} if row["n"] is not None else {}
    if row["low"] is not None and row["high"] is not None:
        bounds = {"lower": row["low"], "upper": row["high"], "confidence_level": 0.95}
        uncertainty["confidence_interval"] = {**bounds, "method": row["method"] or "unknown"}
    return {
        "evaluation_result_id": row["place"],
        "evaluation_name": f"{benchmark.title}: {row['label'] or row['measure']} ({row['condition']})",
        "source_data": data,
        "metric_config": {
            "evaluation_description": row["definition"] or row["measure"],
            "metric_id": row["measure"],
            "lower_is_better": row["higher_is_better"] is False,
            "score_type": "continuous",
            "min_score": "-Infinity" if row["min"] is None else row["min"],
            "max_score": "Infinity" if row["max"] is None else row["max"],
        },
        "score_details": {"score": row["estimate"], **({"uncertainty": uncertainty} if uncertainty else {})},
    }


def _line(each: Sample, evaluation: str) -> dict[str, Any]:
    talk, single = each.messages, len(each.calls) == 1
    asked = "\n\n".join(text for role, text in (talk[:-1] if single else talk[:1]))
    said = each.said if each.said is not None else each.last["text"]
    turns = [{"turn_idx": n, "role": role, "content": text} for n, (role, text) in enumerate(talk)]
    found: dict[str, Any] = {
        "schema_version": SCHEMA, "evaluation_id": evaluation, "model_id": each.name,
        "evaluation_name": f"{each.last['benchmark']} {each.condition}",
        "sample_id": each.item_id, "sample_hash": each.last["item_hash"],
        "interaction_type": "single_turn" if single else "multi_turn",
        "input": {"raw": asked or each.item_id, "reference": [each.key] if each.key else []},
        "output": {"raw": [each.last["text"]]} if single else None,
        "messages": None if single else turns,
        "answer_attribution": [{
            "turn_idx": 0 if single else len(talk) - 1,
            "source": "output.raw" if single else f"messages[{len(talk) - 1}].content",
            "extracted_value": said, "extraction_method": "metacog_pipeline", "is_terminal": True,
        }],
        "evaluation": {"score": each.correct or 0.0, "is_correct": each.correct == 1, "num_turns": len(talk) // 2},
        "token_usage": each.tokens,
        "performance": {"latency_ms": 1000 * each.latency_s},
        "metadata": {
            "condition": each.condition, "run": str(each.run), "scored": "no" if each.correct is None else "yes",
            "confidence": "" if each.confidence is None else repr(each.confidence),
        },
    }  # fmt: skip
    if each.last["status"] == "failed":
        found["error"] = each.last["error_message"] or each.last["error_code"] or "failed"
    return found
