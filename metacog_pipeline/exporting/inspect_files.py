"""``inspect``: a log for each benchmark, condition and model, as inspect_ai writes them; its viewer opens the folder."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from metacog_pipeline import __version__
from metacog_pipeline.benchmark.bound import Bound
from metacog_pipeline.exporting import samples
from metacog_pipeline.exporting.facts import Facts
from metacog_pipeline.exporting.samples import Sample
from metacog_pipeline.files import sha256_hex

SCORER = "metacog"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # a zip has a time for every entry; all have this one
_STOPPED = {"ok": "stop", "refused": "content_filter", "truncated": "max_tokens", "failed": "unknown"}
_BRIEF = (
    "id",
    "epoch",
    "input",
    "target",
    "scores",
    "model_usage",
    "started_at",
    "completed_at",
)  # what is listed


def write(facts: Facts, folder: Path) -> str:
    """Write every log."""
    files = rows = 0
    for benchmark in facts.benchmarks():
        found: dict[tuple[str, str], list[Sample]] = {}
        every, names = samples.samples(facts, benchmark)
        for each in every:
            found.setdefault((each.condition, each.model), []).append(each)
        for (condition, model), own in found.items():
            spec = _spec(facts, benchmark, condition, model, names[model], own)
            _write(folder, spec, _metrics(facts, benchmark, condition, model), own)
            files, rows = files + 1, rows + len(own)
    return f"{files} logs, {rows:,} samples"


def _spec(
    facts: Facts, benchmark: Bound, condition: str, model: str, name: str, own: list[Sample]
) -> dict[str, Any]:
    """Return what the header says of the task."""
    about = facts.about()
    own_id = sha256_hex(f"{about['snapshot']} {benchmark.name} {condition} {model}")[:22]
    return {
        "eval_id": own_id, "run_id": own_id, "task_id": own_id,
        "created": min(call["started_at"] for each in own for call in each.calls).isoformat(),
        "task": f"{benchmark.name}_{condition}", "task_version": 0, "task_attribs": {}, "task_args": {},
        "model": name, "model_args": {}, "packages": {"metacog_pipeline": __version__},
        "dataset": {"name": benchmark.name, "samples": len({each.item_id for each in own})},
        "config": {"epochs": max(each.run for each in own)},
        "scorers": [{"name": SCORER}],
        "metadata": {"study": about["study"], "snapshot": about["snapshot"], "model": model},
    }  # fmt: skip


def _metrics(facts: Facts, benchmark: Bound, condition: str, model: str) -> dict[str, Any]:
    rows = samples.estimates(facts, benchmark, model)
    mine = (row for row in rows if condition in str(row["condition"]).split(" "))
    return {row["place"]: {"name": row["place"], "value": row["estimate"], "params": {}} for row in mine}


def _write(folder: Path, spec: dict[str, Any], metrics: dict[str, Any], own: list[Sample]) -> None:
    """Write a log: a zip with a header, the samples, and what the viewer lists of each."""
    began = min(call["started_at"] for each in own for call in each.calls)
    stamp = re.sub(r"[:.+]", "-", began.isoformat(timespec="seconds"))
    task = re.sub(r"[^A-Za-z0-9]+", "-", spec["task"])
    model = re.sub(r"[^A-Za-z0-9.-]+", "-", spec["metadata"]["model"])
    path = folder / f"{stamp}_{task}-{model}_{spec['eval_id']}.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for name, value in _entries(spec, metrics, own):
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            out.writestr(entry, json.dumps(value, sort_keys=True))


def _entries(spec: dict[str, Any], metrics: dict[str, Any], own: list[Sample]) -> Iterator[tuple[str, Any]]:
    start = {"version": 2, "eval": spec, "plan": {"name": "plan", "steps": [], "config": {}}}
    yield "_journal/start.json", start
    listed = []
    for each in own:
        made = _sample(each, spec["model"])
        yield f"samples/{each.item_id}_epoch_{each.run}.json", made
        listed.append({**{name: made[name] for name in _BRIEF}, "metadata": {}, "completed": True})
    yield "_journal/summaries/1.json", listed
    yield "summaries.json", listed
    usage = {name: sum(each.tokens[name] for each in own) for name in own[0].tokens}
    ended = max(call["started_at"] for each in own for call in each.calls).isoformat()
    yield "header.json", {
        **start, "status": "success",
        "results": {
            "total_samples": len(own), "completed_samples": len(own),
            "scores": [{"name": SCORER, "scorer": SCORER, "params": {}, "metrics": metrics}],
        },
        "stats": {"started_at": spec["created"], "completed_at": ended, "model_usage": {spec["model"]: usage}},
    }  # fmt: skip


def _sample(each: Sample, name: str) -> dict[str, Any]:
    talk, last = [{"role": role, "content": text} for role, text in each.messages], each.last
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
        "metadata": {"condition": each.condition},
        "store": {}, "model_usage": {name: each.tokens},
        "started_at": each.calls[0]["started_at"].isoformat(), "completed_at": last["started_at"].isoformat(),
        "uuid": sha256_hex(f"{last['answer_id']} {each.item_id} {each.condition} {each.run}")[:22],
        "events": [], "attachments": {},
    }  # fmt: skip
