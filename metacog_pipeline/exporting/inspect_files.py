"""``inspect``: a log for each benchmark, condition and model, as inspect_ai writes them; its viewer opens the folder."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path
from typing import Any

from metacog_pipeline import __version__
from metacog_pipeline.benchmark.bound import Bound
from metacog_pipeline.exporting import zip_entry
from metacog_pipeline.exporting.facts import Facts
from metacog_pipeline.exporting.samples import Sample, estimates, grouped
from metacog_pipeline.files import sha256_hex

SCORER = "metacog"
_STOPPED = {"ok": "stop", "refused": "content_filter", "truncated": "max_tokens"}
#: What is listed of each sample.
_BRIEF = ("id", "epoch", "input", "target", "scores", "model_usage", "started_at", "completed_at")


def write(facts: Facts, folder: Path) -> str:
    """Write every log."""
    rows = [_write(facts, benchmark, own, folder) for benchmark, own in grouped(facts, "model", "condition")]
    return f"{len(rows)} logs, {sum(rows):,} samples"


def _write(facts: Facts, benchmark: Bound, own: list[Sample], folder: Path) -> int:
    """Write a log: a zip with a header, the samples, and what the viewer lists of each."""
    about, first = facts.about(), own[0]
    model, condition, name = first.model, first.condition, first.name
    own_id = sha256_hex(f"{about['snapshot']} {benchmark.name} {condition} {model}")[:22]
    times = [time for each in own for time in each.times]
    scores = (
        row for row in estimates(facts, benchmark, model) if condition in str(row["condition"]).split(" ")
    )
    metrics = {row["place"]: {"name": row["place"], "value": row["estimate"], "params": {}} for row in scores}
    made = {f"samples/{each.item_id}_epoch_{each.run}.json": _sample(each) for each in own}
    header = {
        "version": 2, "status": "success", "plan": {"name": "plan", "steps": [], "config": {}},
        "eval": {
            "eval_id": own_id, "run_id": own_id, "task_id": own_id, "created": min(times).isoformat(),
            "task": f"{benchmark.name}_{condition}", "task_version": 0, "task_attribs": {}, "task_args": {},
            "model": name, "model_args": {}, "packages": {"metacog_pipeline": __version__},
            "dataset": {"name": benchmark.name, "samples": len({each.item_id for each in own})},
            "config": {"epochs": max(each.run for each in own)}, "scorers": [{"name": SCORER}],
            "metadata": {"study": about["study"], "snapshot": about["snapshot"], "model": model},
        },
        "results": {
            "total_samples": len(own), "completed_samples": len(own),
            "scores": [{"name": SCORER, "scorer": SCORER, "params": {}, "metrics": metrics}],
        },
        "stats": {
            "started_at": min(times).isoformat(), "completed_at": max(times).isoformat(),
            "model_usage": {name: {key: sum(each.tokens[key] for each in own) for key in first.tokens}},
        },
    }  # fmt: skip
    brief = [
        {**{key: each[key] for key in _BRIEF}, "metadata": {}, "completed": True} for each in made.values()
    ]
    stamp = re.sub(r"[:.+]", "-", min(times).isoformat(timespec="seconds"))
    task, plain = (re.sub(r"[^A-Za-z0-9.]+", "-", each) for each in (f"{benchmark.name}_{condition}", model))
    with zipfile.ZipFile(folder / f"{stamp}_{task}-{plain}_{own_id}.eval", "w", zipfile.ZIP_DEFLATED) as out:
        for path, value in {**made, "summaries.json": brief, "header.json": header}.items():
            out.writestr(zip_entry(path), json.dumps(value, sort_keys=True))
    return len(own)


def _sample(each: Sample) -> dict[str, Any]:
    talk, last, name = [{"role": role, "content": text} for role, text in each.messages], each.last, each.name
    asked = talk[: next(n for n, turn in enumerate(talk) if turn["role"] == "assistant")]
    said = {"role": "assistant", "content": last["text"], "model": name, "source": "generate"}
    value = "N" if each.correct is None else {1.0: "C", 0.0: "I"}.get(each.correct, each.correct)
    return {
        "id": each.item_id, "epoch": each.run,
        "input": asked[0]["content"] if len(asked) == 1 else asked, "target": each.key,
        "messages": [*talk[:-1], said],
        "output": {
            "model": name,
            "choices": [{"message": said, "stop_reason": _STOPPED.get(last["status"], "unknown")}],
            "completion": last["text"], "usage": each.tokens, "time": each.latency_s,
        },
        "scores": {SCORER: {"value": value, "answer": each.said, "metadata": {"confidence": each.confidence}}},
        "metadata": {"condition": each.condition}, "store": {}, "model_usage": {name: each.tokens},
        "started_at": each.calls[0]["started_at"].isoformat(), "completed_at": last["started_at"].isoformat(),
        "uuid": sha256_hex(f"{last['answer_id']} {each.item_id} {each.condition} {each.run}")[:22],
        "events": [], "attachments": {},
    }  # fmt: skip
