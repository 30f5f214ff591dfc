"""The formats of other programs: each writer fills an empty folder from the facts and returns a line about it.

``csv`` and ``hf`` are the tables with a dataset card, ``eee`` is Every Eval Ever, ``inspect`` are logs of inspect_ai.
"""

from __future__ import annotations

import json
import re
import uuid
import zipfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq

from metacog_pipeline import __version__
from metacog_pipeline.benchmark.bound import Bound
from metacog_pipeline.exporting import new, zip_entry
from metacog_pipeline.exporting.facts import Facts, Sample, csv_of, sources
from metacog_pipeline.files import making_folder, sha256_hex
from metacog_pipeline.leaderboard.read import one_connection
from metacog_pipeline.study import Study

EEE_SCHEMA = "0.3.0"
SCORER = "metacog"
_STOPPED = {"ok": "stop", "refused": "content_filter", "truncated": "max_tokens"}
# What inspect_ai's viewer lists of each sample.
_BRIEF = ("id", "epoch", "input", "target", "scores", "model_usage", "started_at", "completed_at")
_ABOUT = {
    "transcripts": "One row: one call and its answer.",
    "items": "One row: what is asked. Where a licence forbids copies, its id and digest only.",
    "responses": "One row: what was read of a model's answer to an item, and its score.",
}


def write_folder(study: Study, target: Path, form: str) -> str:
    """Write the results of a study to a new folder in a format; return a line about them."""
    with one_connection(study.home), new(target), making_folder(target) as folder:
        return {"csv": _csv, "eee": _eee, "hf": _hf, "inspect": _inspect}[form](Facts(study), folder)


# --- tables with a dataset card ---------------------------------------------------------------------------------------
def _csv(facts: Facts, folder: Path) -> str:
    return _tables(facts, folder, "{}.csv", lambda frame, path: path.write_bytes(csv_of(frame)))


def _hf(facts: Facts, folder: Path) -> str:
    return _tables(
        facts,
        folder,
        "{}.parquet",
        lambda frame, path: pq.write_table(frame.to_arrow(), path, compression="zstd"),
    )


def _tables(facts: Facts, folder: Path, place: str, write: Callable[[pl.DataFrame, Path], Any]) -> str:
    """Write every table of the board; of each benchmark items, responses and calls; and the card."""
    frames = dict(facts.tables())
    for benchmark in facts.benchmarks:
        own = {"items": facts.items, "responses": facts.responses, "transcripts": facts.answers}
        frames |= {f"{name}-{benchmark.name}": of(benchmark) for name, of in own.items()}
    frames = {name: frame for name, frame in frames.items() if frame.width}
    for name, frame in frames.items():
        write(frame, folder / place.format(name))
    (folder / "README.md").write_text(card(facts, frames, place), encoding="utf-8")
    return f"{len(frames)} tables, {sum(frame.height for frame in frames.values()):,} rows"


def card(facts: Facts, frames: Mapping[str, pl.DataFrame], place: str) -> str:
    """Return the dataset card: its head for Hugging Face, papers, licences, every field of every table."""
    about, meaning = facts.about, facts.described()
    text = ["---", f"pretty_name: {json.dumps(about['study'])}", "license: other", "configs:"]
    # Hugging Face shows the first configuration.
    for name in sorted(frames, key=lambda each: (each != "leaderboard", each)):
        path = json.dumps(place.format(name))
        text += [f"- config_name: {json.dumps(name)}", f"  data_files: [{{split: test, path: {path}}}]"]
    text += [
        "---", "", f"# {about['study']}", "",
        f"What language models know about what they know, measured with metacog_pipeline {about['version']} "
        f"(snapshot {about['snapshot']}, seed {about['seed']}). The archive of `metacog export --format bundle` holds "
        "every answer; `metacog doctor --bundle` rebuilds every table from them, asks no model, and reports whether each "
        "is equal byte by byte. Keys, credentials and paths of the machine were taken out.", "",
    ]  # fmt: skip
    licences = ["benchmark", "source", "licence", "SHA-256", "addresses", "items here"]
    rows = [licences, ["---"] * len(licences)]
    for name, each in about["benchmarks"].items():
        text.append(
            f"- `{name}`: {each['title']}. " + "{authors} ({year}). {title}. {url}".format(**each["paper"])
        )
        for row in each["sources"] or [{"name": "shipped, generated or the study's own", "urls": []}]:
            cells = [row.get(field) or "" for field in ("name", "licence", "sha256")]
            rows.append([name, *cells, " ".join(row["urls"]), each["items"]])
    text += ["", "## Licences", "", *map(_row, rows), "", "## Fields", ""]
    for name, frame in frames.items():
        own, _, of = name.partition("-")
        words = meaning.get(name) or meaning.get(f"{of}_{own}") or meaning.get(own) or {}
        fields = [[column, str(kind), words.get(column, "")] for column, kind in frame.schema.items()]
        rows = [["field", "type", "meaning"], ["---"] * 3, *fields]
        text += [f"### {name}", "", *([_ABOUT[own], ""] if own in _ABOUT else []), *map(_row, rows), ""]
    return "\n".join(text)


def _row(cells: Iterable[object]) -> str:
    plain = (str(each).replace("|", "\\|").replace("\n", " ") for each in cells)
    return f"| {' | '.join(plain)} |"


# --- Every Eval Ever --------------------------------------------------------------------------------------------------
def _eee(facts: Facts, folder: Path) -> str:
    """Write for each benchmark and model a file of scores, and one of single results."""
    rows = [_eee_files(facts, benchmark, own, folder) for benchmark, own in facts.samples("model")]
    return f"{len(rows)} files of scores, {sum(rows):,} single results"


def _eee_files(facts: Facts, benchmark: Bound, own: list[Sample], folder: Path) -> int:
    model, name = own[0].calls[0]["model"], own[0].name
    seen = sha256_hex(f"{facts.about['snapshot']} {benchmark.name} {model}")
    last = f"{max(call['started_at'] for each in own for call in each.calls).timestamp():.0f}"
    place = f"data/{benchmark.name}/{name.split('/')[0]}/{model}"
    path = f"{place}/{uuid.UUID(bytes=bytes.fromhex(seen)[:16], version=4)}"
    evaluation = f"{benchmark.name}/{name}/{last}"
    urls = [url for each in sources(benchmark) for url in each.urls]
    kind = {"source_type": "url", "url": urls} if urls else {"source_type": "other"}
    data = {"dataset_name": benchmark.name, **kind}
    text = "".join(json.dumps(_eee_result(each, evaluation), sort_keys=True) + "\n" for each in own)
    summary = {
        "schema_version": EEE_SCHEMA,
        "evaluation_id": evaluation, "evaluation_timestamp": last, "retrieved_timestamp": last,
        "source_metadata": {
            "source_name": "metacog_pipeline", "source_type": "evaluation_run",
            "source_organization_name": "unknown", "evaluator_relationship": "other",
        },
        "eval_library": {"name": "metacog_pipeline", "version": __version__},
        "model_info": {
            "name": model, "id": name, "developer": name.split("/")[0],
            "additional_details": {"deployment_type": "unknown", "model_availability": "unknown"},
        },
        "evaluation_results": [
            _eee_score(row, benchmark.title, data) for row in facts.estimates(benchmark.name, model)
        ],
        "detailed_evaluation_results": {
            "format": "jsonl", "file_path": f"{path}_samples.jsonl", "hash_algorithm": "sha256",
            "checksum": sha256_hex(text), "total_rows": len(own),
        },
    }  # fmt: skip
    (folder / place).mkdir(parents=True)
    (folder / f"{path}_samples.jsonl").write_text(text, encoding="utf-8")
    written = json.dumps(summary, indent=1, sort_keys=True) + "\n"
    (folder / f"{path}.json").write_text(written, encoding="utf-8")
    return len(own)


def _eee_score(row: dict[str, Any], title: str, data: dict[str, Any]) -> dict[str, Any]:
    score: dict[str, Any] = {"score": row["estimate"]}
    if row["n"] is not None:
        score["uncertainty"] = {"num_samples": row["n"]}
    if row["low"] is not None and row["high"] is not None:
        bounds = {"lower": row["low"], "upper": row["high"], "confidence_level": 0.95}
        interval = {**bounds, "method": row["method"] or "unknown"}
        score.setdefault("uncertainty", {})["confidence_interval"] = interval
    return {
        "evaluation_result_id": row["place"],
        "evaluation_name": f"{title}: {row['label'] or row['measure']} ({row['condition']})",
        "source_data": data,
        "metric_config": {
            "evaluation_description": row["definition"] or row["measure"],
            "metric_id": row["measure"],
            "lower_is_better": row["higher_is_better"] is False,
            "score_type": "continuous",
            "min_score": "-Infinity" if row["min"] is None else row["min"],
            "max_score": "Infinity" if row["max"] is None else row["max"],
        },
        "score_details": score,
    }


def _eee_result(each: Sample, evaluation: str) -> dict[str, Any]:
    talk, last, single = each.messages, each.calls[-1], len(each.calls) == 1
    asked = "\n\n".join(text for _, text in (talk[:-1] if single else talk[:1]))
    correct, said, confidence = (each.read.get(name) for name in ("correct", "response", "confidence"))
    turns = [{"turn_idx": n, "role": role, "content": text} for n, (role, text) in enumerate(talk)]
    found: dict[str, Any] = {
        "schema_version": EEE_SCHEMA, "evaluation_id": evaluation, "model_id": each.name,
        "evaluation_name": f"{last['benchmark']} {last['condition']}",
        "sample_id": last["item_id"], "sample_hash": last["item_hash"],
        "interaction_type": "single_turn" if single else "multi_turn",
        "input": {"raw": asked or last["item_id"], "reference": [each.key] if each.key else []},
        "output": {"raw": [last["text"]]} if single else None,
        "messages": None if single else turns,
        "answer_attribution": [{
            "turn_idx": 0 if single else len(talk) - 1,
            "source": "output.raw" if single else f"messages[{len(talk) - 1}].content",
            "extracted_value": last["text"] if said is None else said,
            "extraction_method": "metacog_pipeline", "is_terminal": True,
        }],
        "evaluation": {"score": correct or 0.0, "is_correct": correct == 1, "num_turns": len(talk) // 2},
        "token_usage": each.tokens,
        "performance": {"latency_ms": 1000 * each.latency_s},
        "metadata": {
            "condition": last["condition"], "run": str(last["run"]), "scored": "no" if correct is None else "yes",
            "confidence": "" if confidence is None else repr(confidence),
        },
    }  # fmt: skip
    if last["status"] == "failed":
        found["error"] = last["error_message"] or last["error_code"] or "failed"
    return found


# --- logs of inspect_ai -----------------------------------------------------------------------------------------------
def _inspect(facts: Facts, folder: Path) -> str:
    """Write a log for each benchmark, condition and model, as inspect_ai writes them; its viewer opens the folder."""
    rows = [_log(facts, benchmark, own, folder) for benchmark, own in facts.samples("model", "condition")]
    return f"{len(rows)} logs, {sum(rows):,} samples"


def _log(facts: Facts, benchmark: Bound, own: list[Sample], folder: Path) -> int:
    """Write a log: a zip with a header, the samples, and what the viewer lists of each."""
    about, first, name = facts.about, own[0].calls[0], own[0].name
    model, condition = first["model"], first["condition"]
    own_id = sha256_hex(f"{about['snapshot']} {benchmark.name} {condition} {model}")[:22]
    times = sorted(call["started_at"] for each in own for call in each.calls)
    scores = [
        row for row in facts.estimates(benchmark.name, model) if condition in str(row["condition"]).split(" ")
    ]
    metrics = {row["place"]: {"name": row["place"], "value": row["estimate"], "params": {}} for row in scores}
    made = [_log_sample(each) for each in own]
    header = {
        "version": 2, "status": "success", "plan": {"name": "plan", "steps": [], "config": {}},
        "eval": {
            "eval_id": own_id, "run_id": own_id, "task_id": own_id, "created": times[0].isoformat(),
            "task": f"{benchmark.name}_{condition}", "task_version": 0, "task_attribs": {}, "task_args": {},
            "model": name, "model_args": {}, "packages": {"metacog_pipeline": __version__},
            "dataset": {"name": benchmark.name, "samples": len({each["id"] for each in made})},
            "config": {"epochs": max(each["epoch"] for each in made)}, "scorers": [{"name": SCORER}],
            "metadata": {"study": about["study"], "snapshot": about["snapshot"], "model": model},
        },
        "results": {
            "total_samples": len(own), "completed_samples": len(own),
            "scores": [{"name": SCORER, "scorer": SCORER, "params": {}, "metrics": metrics}],
        },
        "stats": {
            "started_at": times[0].isoformat(), "completed_at": times[-1].isoformat(),
            "model_usage": {name: {key: sum(each.tokens[key] for each in own) for key in own[0].tokens}},
        },
    }  # fmt: skip
    entries: dict[str, Any] = {f"samples/{each['id']}_epoch_{each['epoch']}.json": each for each in made}
    brief = [{**{key: each[key] for key in _BRIEF}, "metadata": {}, "completed": True} for each in made]
    stamp = re.sub(r"[:.+]", "-", times[0].isoformat(timespec="seconds"))
    task, plain = (re.sub(r"[^A-Za-z0-9.]+", "-", each) for each in (f"{benchmark.name}_{condition}", model))
    with zipfile.ZipFile(folder / f"{stamp}_{task}-{plain}_{own_id}.eval", "w", zipfile.ZIP_DEFLATED) as out:
        for path, value in {**entries, "summaries.json": brief, "header.json": header}.items():
            out.writestr(zip_entry(path), json.dumps(value, sort_keys=True))
    return len(own)


def _log_sample(each: Sample) -> dict[str, Any]:
    first, last = each.calls[0], each.calls[-1]
    talk = [{"role": role, "content": text} for role, text in each.messages]
    asked = talk[: next(n for n, turn in enumerate(talk) if turn["role"] == "assistant")]
    said = {"role": "assistant", "content": last["text"], "model": each.name, "source": "generate"}
    correct, confidence = each.read.get("correct"), each.read.get("confidence")
    value = "N" if correct is None else {1.0: "C", 0.0: "I"}.get(correct, correct)
    return {
        "id": last["item_id"], "epoch": last["run"],
        "input": asked[0]["content"] if len(asked) == 1 else asked, "target": each.key,
        "messages": [*talk[:-1], said],
        "output": {
            "model": each.name,
            "choices": [{"message": said, "stop_reason": _STOPPED.get(last["status"], "unknown")}],
            "completion": last["text"], "usage": each.tokens, "time": each.latency_s,
        },
        "scores": {
            SCORER: {"value": value, "answer": each.read.get("response"), "metadata": {"confidence": confidence}}
        },
        "metadata": {"condition": last["condition"]}, "store": {}, "model_usage": {each.name: each.tokens},
        "started_at": first["started_at"].isoformat(), "completed_at": last["started_at"].isoformat(),
        "uuid": sha256_hex(f"{last['answer_id']} {last['item_id']} {last['condition']} {last['run']}")[:22],
        "events": [], "attachments": {},
    }  # fmt: skip
