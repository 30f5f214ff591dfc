"""The formats of other programs: tables with a dataset card, Every Eval Ever, and logs of inspect_ai."""

from __future__ import annotations

import io
import json
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from metacog_pipeline.exporting.facts import Facts, csv_of, refuse_existing, sources
from metacog_pipeline.files import making_folder, sha256_hex
from metacog_pipeline.leaderboard.read import one_connection
from metacog_pipeline.study import Study

#: The files of an export: name and content.
Entries = Iterator[tuple[str, bytes]]
EEE_SCHEMA, SCORER = "0.3.0", "metacog"
# The body of a reply is packed: it cannot be searched for secrets.
CALLS = "select * exclude (raw_zstd) from transcripts semi join progress using (benchmark, model, run) where not superseded"
_SAMPLES = f"""
select calls.*, question, key, correct, response, confidence
from ({CALLS}) as calls
inner join items using (benchmark, item_id)
left join answers as own on own.condition = concat_ws(' ', task, calls.condition)
    and (own.benchmark, own.model, own.run, own.item_id) = (calls.benchmark, calls.model, calls.run, calls.item_id)
"""
# what the calls of one sample have in common
_PLACE = ("benchmark", "model", "condition", "item_id", "run")
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
    frames = facts.tables() | ({"transcripts": facts.table(CALLS)} if calls else {})
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


# --- samples, and logs of inspect_ai ----------------------------------------------------------------------------------
def _samples(facts: Facts, *names: str) -> Iterator[tuple[Any, list[dict[str, Any]]]]:
    """Yield each benchmark and its values of ``names``, as its model, with the samples that have them."""
    calls = facts.table(_SAMPLES).sort(*_PLACE, "started_at", "step").iter_rows(named=True)
    for key, own in groupby(calls, itemgetter("benchmark", *names)):
        yield key, [_sample(each) for _, each in groupby(own, itemgetter(*_PLACE))]


def _sample(found: Iterator[dict[str, Any]]) -> dict[str, Any]:
    # A failed call was asked again: the last of each step counts.
    calls = list({each["step"]: each for each in found}.values())
    last, asked, talk = calls[-1], list[dict[str, str]](), list[dict[str, str]]()
    for call in calls:
        turns = json.loads(call["request_json"] or "{}").get("messages")
        turns = turns or [["user", call["question"] or call["item_id"]]]
        # A later call repeats the talk before it: only its last turn is new.
        talk += [{"role": role, "content": text} for role, text in (turns[-1:] if talk else turns)]
        asked = asked or [*talk]
        talk.append({"role": "assistant", "content": call["text"]})
    tokens = {name: sum(call[name] or 0 for call in calls) for name in ("input_tokens", "output_tokens")}
    value = "N" if last["correct"] is None else {1.0: "C", 0.0: "I"}.get(last["correct"], last["correct"])
    read = {"value": value, "answer": last["response"], "metadata": {"confidence": last["confidence"]}}
    error = {"message": last["error_message"] or "failed", "traceback": "", "traceback_ansi": ""}
    return {
        "id": last["item_id"], "epoch": last["run"], "target": last["key"] or "", "input": asked, "messages": talk,
        "output": {
            "model": f"{last['provider']}/{(last['model_id'] or last['model']).split('/')[-1]}",
            "completion": last["text"], "time": last["latency_s"],
            "usage": {**tokens, "total_tokens": sum(tokens.values())},
            "choices": [{"message": talk[-1], "stop_reason": _STOPPED.get(last["status"], "unknown")}],
        },
        "scores": {SCORER: read}, "error": error if last["status"] == "failed" else None,
        "metadata": {"condition": last["condition"], "calls": len(calls)}, "started_at": last["started_at"].isoformat(),
    }  # fmt: skip


def _scores(facts: Facts, benchmark: str, model: str) -> dict[str, dict[str, Any]]:
    """Return what the board says of a model, each value under a name that no other of them has."""
    board = facts.table("from leaderboard where source <> 'published' and isfinite(estimate)")
    rows = board.filter(benchmark=benchmark, model=model).iter_rows(named=True)
    return {f"{row['condition']}/{row['measure']}": row for row in rows}


def _logs(facts: Facts) -> Entries:
    """Yield a log for each benchmark, condition and model, as inspect_ai writes them; its viewer opens the folder."""
    for (benchmark, model, condition), own in _samples(facts, "model", "condition"):
        task, started = f"{benchmark}_{condition}", min(each["started_at"] for each in own)
        own_id = sha256_hex(f"{facts.snapshot} {task} {model}")[:22]
        metrics = {
            name: {"name": name, "value": row["estimate"]}
            for name, row in _scores(facts, benchmark, model).items()
            if condition in row["condition"].split(" ")
        }
        log = {
            "version": 2, "status": "success",
            "eval": {
                "eval_id": own_id, "run_id": own_id, "task_id": own_id, "created": started,
                "task": task, "model": own[0]["output"]["model"], "config": {}, "scorers": [{"name": SCORER}],
                "dataset": {"name": benchmark, "samples": len(own)}, "metadata": {"model": model},
            },
            "results": {
                "total_samples": len(own), "completed_samples": len(own),
                "scores": [{"name": SCORER, "scorer": SCORER, "metrics": metrics}],
            },
            "samples": own,
        }  # fmt: skip
        name = re.sub(r"[^A-Za-z0-9.]+", "-", f"{task}-{model}")
        # inspect_ai lists files whose name begins with a time.
        yield f"{started[:19].replace(':', '-')}_{name}_{own_id}.json", _lines([log])


def _lines(rows: Iterable[Any]) -> bytes:
    return "".join(json.dumps(each, sort_keys=True) + "\n" for each in rows).encode("utf-8")


# --- Every Eval Ever --------------------------------------------------------------------------------------------------
def _every_eval(facts: Facts) -> Entries:
    """Yield for each benchmark and model a file of scores, and one of single results."""
    for (benchmark, model), own in _samples(facts, "model"):
        name, seen = own[0]["output"]["model"], sha256_hex(f"{facts.snapshot} {benchmark} {model}")
        path = f"data/{benchmark}/{name.split('/')[0]}/{model}/{uuid.UUID(seen[:32], version=4)}"
        last = f"{datetime.fromisoformat(max(each['started_at'] for each in own)).timestamp():.0f}"
        scores = _scores(facts, benchmark, model)
        about = {"schema_version": EEE_SCHEMA, "evaluation_id": f"{benchmark}/{name}/{last}"}
        summary = {
            **about, "evaluation_timestamp": last, "retrieved_timestamp": last,
            "source_metadata": {
                "source_name": "metacog_pipeline", "source_type": "evaluation_run",
                "source_organization_name": "unknown", "evaluator_relationship": "other",
            },
            "eval_library": {"name": "metacog_pipeline", "version": facts.version},
            "model_info": {"name": model, "id": name, "additional_details": _UNKNOWN},
            "evaluation_results": [_eee_score(name, row) for name, row in scores.items()],
            "detailed_evaluation_results": {"format": "jsonl", "file_path": f"{path}_samples.jsonl"},
        }  # fmt: skip
        yield f"{path}.json", _lines([summary])
        yield f"{path}_samples.jsonl", _lines(about | _eee_result(benchmark, each) for each in own)


def _eee_score(name: str, row: Mapping[str, Any]) -> dict[str, Any]:
    ends = {"lower": row["low"], "upper": row["high"], "confidence_level": 0.95, "method": row["method"]}
    uncertainty = {"num_samples": row["n"], "confidence_interval": None if row["low"] is None else ends}
    return {
        "evaluation_result_id": name, "evaluation_name": f"{row['benchmark']} {row['condition']}",
        "source_data": {"dataset_name": row["benchmark"], "source_type": "other"},
        "metric_config": {"metric_id": row["measure"], "lower_is_better": row["higher_is_better"] is False},
        "score_details": {"score": row["estimate"], "uncertainty": uncertainty},
    }  # fmt: skip


def _eee_result(benchmark: str, each: dict[str, Any]) -> dict[str, Any]:
    output, read, about = each["output"], each["scores"][SCORER], each["metadata"]
    value, single = {"C": 1.0, "I": 0.0, "N": 0.0}.get(read["value"], read["value"]), about["calls"] == 1
    asked = "\n\n".join(turn["content"] for turn in each["input"])
    return {
        "model_id": output["model"], "evaluation_name": f"{benchmark} {about['condition']}", "sample_id": each["id"],
        "interaction_type": "single_turn" if single else "multi_turn",
        "input": {"raw": asked, "reference": [each["target"]] if each["target"] else []},
        "output": {"raw": [output["completion"]]} if single else None,
        "messages": None if single else [{"turn_idx": n, **turn} for n, turn in enumerate(each["messages"])],
        "evaluation": {"score": value, "is_correct": value == 1},
        "answer_attribution": [], "token_usage": output["usage"], "error": each["error"] and each["error"]["message"],
        "metadata": {"run": each["epoch"], "response": read["answer"], **read["metadata"]},
    }  # fmt: skip
