"""The formats of other programs: ``csv`` and ``hf`` (Parquet) are tables with a dataset card, ``eee`` is Every Eval Ever,
``inspect`` are logs of inspect_ai.
"""

from __future__ import annotations

import io
import json
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from metacog_pipeline.exporting.facts import CALLS, Facts, Sample, csv_of, refuse_existing, sources
from metacog_pipeline.files import making_folder, sha256_hex
from metacog_pipeline.leaderboard.read import one_connection
from metacog_pipeline.study import Study

#: The files of an export: name and content.
Entries = Iterator[tuple[str, bytes]]
EEE_SCHEMA, SCORER = "0.3.0", "metacog"
_UNKNOWN = {"deployment_type": "unknown", "model_availability": "unknown"}
_STOPPED = {"ok": "stop", "refused": "content_filter", "truncated": "max_tokens"}


def write(study: Study, target: Path, form: str) -> str:
    """Write the results of a study to a new folder in a format; return a line about them."""
    refuse_existing(target)
    sizes = list[int]()
    with one_connection(study.home), making_folder(target) as folder:
        facts = Facts(study)
        # None of them is made before it is asked for its first file.
        entries = {
            "csv": tables(facts, "{}.csv"), "hf": tables(facts, "{}.parquet"),
            "eee": _every_eval(facts), "inspect": _logs(facts),
        }  # fmt: skip
        for name, data in entries[form]:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            sizes.append((folder / name).write_bytes(data))
    return f"{len(sizes):,} files, {sum(sizes):,} bytes"


# --- tables with a dataset card ---------------------------------------------------------------------------------------
def tables(facts: Facts, place: str, *, calls: bool = True) -> Entries:
    """Yield every table of the board, the calls, and the card; ``place`` is as in "tables/{}.csv"."""
    frames = facts.tables() | ({"transcripts": facts.frame(CALLS)} if calls else {})
    for name, frame in frames.items():
        out = io.BytesIO()
        _ = frame.write_parquet(out) if place.endswith(".parquet") else out.write(csv_of(frame))
        yield place.format(name), out.getvalue()
    yield "README.md", _card(facts, frames, place).encode("utf-8")


def _card(facts: Facts, frames: Iterable[str], place: str) -> str:
    """Return the dataset card: its head for Hugging Face, papers and licences."""
    study = facts.study.study
    text = ["---", f"pretty_name: {json.dumps(study.name)}", "license: other", "configs:"]
    # Hugging Face shows the first configuration.
    for name in sorted(frames, key=lambda each: (each != "leaderboard", each)):
        path = json.dumps(place.format(name))
        text += [f"- config_name: {json.dumps(name)}", f"  data_files: [{{split: test, path: {path}}}]"]
    text += [
        "---", "", f"# {study.name}", "",
        f"What language models know about what they know, measured with metacog_pipeline {facts.version} "
        f"(snapshot {facts.snapshot}, seed {study.seed}). The archive of `metacog export --format bundle` holds "
        "every answer; `metacog doctor --bundle` rebuilds every table from it. Keys, credentials and paths of the machine "
        "were taken out. `metacog sql` describes each table.", "", "## Benchmarks and licences",
    ]  # fmt: skip
    for each in facts.benchmarks:
        paper, items = each.paper, "by id and hash" if each.name in facts.closed else "copied"
        cited = f"{paper.authors} ({paper.year}). {paper.title}. {paper.url}"
        text += ["", f"`{each.name}`: {each.title}. {cited} Items: {items}."]
        for one in sources(each):
            digest = one.digest(facts.home)
            text.append(f"- {one.name}: {one.licence}. {' '.join(one.urls)} (SHA-256 {digest})")
    return "\n".join([*text, ""])


# --- Every Eval Ever --------------------------------------------------------------------------------------------------
def _every_eval(facts: Facts) -> Entries:
    """Yield for each benchmark and model a file of scores, and one of single results."""
    for (benchmark, model), own in facts.samples("model"):
        name, seen = own[0]["name"], sha256_hex(f"{facts.snapshot} {benchmark} {model}")
        path = f"data/{benchmark}/{name.split('/')[0]}/{model}/{uuid.UUID(seen[:32], version=4)}"
        last = f"{max(each['started_at'] for each in own).timestamp():.0f}"
        evaluation = f"{benchmark}/{name}/{last}"
        summary = {
            "schema_version": EEE_SCHEMA,
            "evaluation_id": evaluation, "evaluation_timestamp": last, "retrieved_timestamp": last,
            "source_metadata": {
                "source_name": "metacog_pipeline", "source_type": "evaluation_run",
                "source_organization_name": "unknown", "evaluator_relationship": "other",
            },
            "eval_library": {"name": "metacog_pipeline", "version": facts.version},
            "model_info": {"name": model, "id": name, "additional_details": _UNKNOWN},
            "evaluation_results": [_eee_score(row) for row in facts.scores(benchmark, model)],
            "detailed_evaluation_results": {"format": "jsonl", "file_path": f"{path}_samples.jsonl"},
        }  # fmt: skip
        yield f"{path}.json", _lines([summary])
        yield f"{path}_samples.jsonl", _lines(_eee_result(each, evaluation) for each in own)


def _eee_score(row: Mapping[str, Any]) -> dict[str, Any]:
    ends = {"lower": row["low"], "upper": row["high"], "confidence_level": 0.95, "method": row["method"]}
    uncertainty = {"num_samples": row["n"], "confidence_interval": None if row["low"] is None else ends}
    return {
        "evaluation_result_id": row["place"], "evaluation_name": f"{row['benchmark']} {row['condition']}",
        "source_data": {"dataset_name": row["benchmark"], "source_type": "other"},
        "metric_config": {"metric_id": row["measure"], "lower_is_better": row["higher_is_better"] is False},
        "score_details": {"score": row["estimate"], "uncertainty": uncertainty},
    }  # fmt: skip


def _eee_result(each: Sample, evaluation: str) -> dict[str, Any]:
    talk, single = each["messages"], each["single"]
    asked = "\n\n".join(turn["content"] for turn in each["asked"])
    return {
        "schema_version": EEE_SCHEMA, "evaluation_id": evaluation, "model_id": each["name"],
        "evaluation_name": f"{each['benchmark']} {each['condition']}", "sample_id": each["item_id"],
        "interaction_type": "single_turn" if single else "multi_turn",
        "input": {"raw": asked, "reference": [each["key"]] if each["key"] else []},
        "output": {"raw": [each["text"]]} if single else None,
        "messages": None if single else [{"turn_idx": n, **turn} for n, turn in enumerate(talk)],
        "evaluation": {"score": each["correct"] or 0.0, "is_correct": each["correct"] == 1},
        "answer_attribution": [], "token_usage": each["tokens"], "error": each["error"],
        "metadata": {"run": each["run"], "response": each["response"], "confidence": each["confidence"]},
    }  # fmt: skip


def _lines(rows: Iterable[Any]) -> bytes:
    return "".join(json.dumps(each, sort_keys=True) + "\n" for each in rows).encode("utf-8")


# --- logs of inspect_ai -----------------------------------------------------------------------------------------------
def _logs(facts: Facts) -> Entries:
    """Yield a log for each benchmark, condition and model, as inspect_ai writes them; its viewer opens the folder."""
    for (benchmark, model, condition), own in facts.samples("model", "condition"):
        task, started = f"{benchmark}_{condition}", min(each["started_at"] for each in own)
        own_id = sha256_hex(f"{facts.snapshot} {task} {model}")[:22]
        board = facts.scores(benchmark, model)
        scores = {row["place"]: row["estimate"] for row in board if condition in row["condition"].split(" ")}
        metrics = {name: {"name": name, "value": value} for name, value in scores.items()}
        log = {
            "version": 2, "status": "success",
            "eval": {
                "eval_id": own_id, "run_id": own_id, "task_id": own_id, "created": started.isoformat(),
                "task": task, "model": own[0]["name"], "config": {}, "scorers": [{"name": SCORER}],
                "dataset": {"name": benchmark, "samples": len(own)}, "metadata": {"model": model},
            },
            "results": {
                "total_samples": len(own), "completed_samples": len(own),
                "scores": [{"name": SCORER, "scorer": SCORER, "metrics": metrics}],
            },
            "samples": [_log_sample(each) for each in own],
        }  # fmt: skip
        name = re.sub(r"[^A-Za-z0-9.]+", "-", f"{task}-{model}")
        # inspect_ai lists files whose name begins with a time.
        yield f"{started:%Y-%m-%dT%H-%M-%S}_{name}_{own_id}.json", _lines([log])


def _log_sample(each: Sample) -> dict[str, Any]:
    talk, correct = each["messages"], each["correct"]
    value = "N" if correct is None else {1.0: "C", 0.0: "I"}.get(correct, correct)
    read = {"value": value, "answer": each["response"], "metadata": {"confidence": each["confidence"]}}
    error = {"message": each["error"], "traceback": "", "traceback_ansi": ""}
    return {
        "id": each["item_id"], "epoch": each["run"], "target": each["key"], "input": each["asked"], "messages": talk,
        "output": {
            "model": each["name"], "completion": each["text"], "usage": each["tokens"], "time": each["latency_s"],
            "choices": [{"message": talk[-1], "stop_reason": _STOPPED.get(each["status"], "unknown")}],
        },
        "scores": {SCORER: read}, "error": error if each["error"] else None,
        "metadata": {"condition": each["condition"]}, "started_at": each["started_at"].isoformat(),
    }  # fmt: skip
