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
_EPOCH = (1980, 1, 1, 0, 0, 0)
_STOPPED = {"ok": "stop", "refused": "content_filter", "truncated": "max_tokens", "failed": "unknown"}


def write(facts: Facts, folder: Path) -> str:
    """Write every log."""
    files = rows = 0
    for benchmark in facts.benchmarks():
        found: dict[tuple[str, str], list[Sample]] = {}
        every, names = samples.samples(facts, benchmark)
        for each in every:
            found.setdefault((each.condition, each.model), []).append(each)
        for (condition, model), own in found.items():
            log = _Log(facts, benchmark, condition, model, names[model], own)
            log.write(folder)
            files, rows = files + 1, rows + len(own)
    return f"{files} logs, {rows:,} samples"


class _Log:
    """One log: a zip with a header, the samples, and what the viewer lists of each."""

    def __init__(
        self, facts: Facts, benchmark: Bound, condition: str, model: str, name: str, own: list[Sample]
    ) -> None:
        self.own, self.name = own, name
        self.id = sha256_hex(f"{facts.about()['snapshot']} {benchmark.name} {condition} {model}")[:22]
        times = [call["started_at"] for each in own for call in each.calls]
        self.began, self.ended = min(times), max(times)
        self.spec = {
            "eval_id": self.id, "run_id": self.id, "task_id": self.id, "created": self.began.isoformat(),
            "task": f"{benchmark.name}_{condition}", "task_version": 0, "task_attribs": {}, "task_args": {},
            "model": name, "model_args": {}, "packages": {"metacog_pipeline": __version__},
            "dataset": {"name": benchmark.name, "samples": len({each.item_id for each in own})},
            "config": {"epochs": max(each.run for each in own)},
            "scorers": [{"name": SCORER}],
            "metadata": {"study": facts.study.study.name, "snapshot": facts.about()["snapshot"], "model": model},
        }  # fmt: skip
        rows = samples.estimates(facts, benchmark, model)
        mine = [row for row in rows if condition in str(row["condition"]).split(" ")]
        self.metrics = {
            row["place"]: {"name": row["place"], "value": row["estimate"], "params": {}} for row in mine
        }

    def write(self, folder: Path) -> None:
        stamp = re.sub(r"[:.+]", "-", self.began.isoformat(timespec="seconds"))
        task = re.sub(r"[^A-Za-z0-9]+", "-", self.spec["task"])
        model = re.sub(r"[^A-Za-z0-9.-]+", "-", str(self.spec["metadata"]["model"]))
        with zipfile.ZipFile(
            folder / f"{stamp}_{task}-{model}_{self.id}.eval", "w", zipfile.ZIP_DEFLATED
        ) as out:
            for name, value in self._entries():
                entry = zipfile.ZipInfo(name, _EPOCH)
                entry.compress_type = zipfile.ZIP_DEFLATED
                out.writestr(entry, json.dumps(value, sort_keys=True))

    def _entries(self) -> Iterator[tuple[str, Any]]:
        plan = {"name": "plan", "steps": [], "config": {}}
        start = {"version": 2, "eval": self.spec, "plan": plan}
        yield "_journal/start.json", start
        listed = []
        for each in self.own:
            made = _sample(each, self.name)
            yield f"samples/{each.item_id}_epoch_{each.run}.json", made
            brief = ("id", "epoch", "input", "target", "scores", "model_usage", "started_at", "completed_at")
            listed.append({**{name: made[name] for name in brief}, "metadata": {}, "completed": True})
        yield "_journal/summaries/1.json", listed
        yield "summaries.json", listed
        usage = {name: sum(each.tokens[name] for each in self.own) for name in self.own[0].tokens}
        results = {
            "total_samples": len(self.own),
            "completed_samples": len(self.own),
            "scores": [{"name": SCORER, "scorer": SCORER, "params": {}, "metrics": self.metrics}],
        }
        times = {"started_at": self.began.isoformat(), "completed_at": self.ended.isoformat()}
        yield "header.json", {
            **start, "status": "success", "results": results,
            "stats": {**times, "model_usage": {self.name: usage}},
        }  # fmt: skip


def _sample(each: Sample, name: str) -> dict[str, Any]:
    talk = each.messages
    first = next(n for n, (role, _) in enumerate(talk) if role == "assistant")
    asked = [{"role": role, "content": text} for role, text in talk[:first]]
    last = each.last
    said = {"role": "assistant", "content": last["text"], "model": name, "source": "generate"}
    value = "N" if each.correct is None else {1.0: "C", 0.0: "I"}.get(each.correct, each.correct)
    score = {"value": value, "answer": each.said, "metadata": {"confidence": each.confidence}}
    usage = each.tokens
    return {
        "id": each.item_id, "epoch": each.run,
        "input": asked[0]["content"] if len(asked) == 1 else asked, "target": each.key,
        "messages": [{"role": role, "content": text} for role, text in talk[:-1]] + [said],
        "output": {
            "model": name,
            "choices": [{"message": said, "stop_reason": _STOPPED.get(last["status"], "unknown")}],
            "completion": last["text"], "usage": usage, "time": each.latency_s,
        },
        "scores": {SCORER: score},
        "metadata": {"condition": each.condition},
        "store": {}, "model_usage": {name: usage},
        "started_at": each.calls[0]["started_at"].isoformat(),
        "completed_at": last["started_at"].isoformat(),
        "uuid": sha256_hex(f"{last['answer_id']} {each.item_id} {each.condition} {each.run}")[:22],
        "events": [], "attachments": {},
    }  # fmt: skip
