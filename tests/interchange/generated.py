"""Logs as other programs write them, made from a seed: rows of every status, in each format and version."""

import csv
import json
import random
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

STATUSES = ("right", "wrong", "unreadable", "cut", "refused", "error", "expired", "taken back")


class Asked(NamedTuple):
    """One row: which question, its options in the order shown, the key's place, how it ended, which repeat."""

    number: int
    options: tuple[str, ...]
    key: int
    status: str
    run: int

    @property
    def question(self) -> str:
        return f"Which of these is thing number {self.number}?"

    @property
    def letter(self) -> str:
        return "ABCD"[self.key]

    @property
    def reply(self) -> str:
        other = "ABCD"[(self.key + 1) % 4]
        said = {
            "right": f"Answer: {self.letter}",
            "wrong": f"Answer: {other}",
            "cut": "Let us look at each of",
        }
        return said.get(self.status, "Hm, that depends.")

    @property
    def right(self) -> bool:
        return self.status == "right"


def rows(seed: int, statuses: tuple[str, ...], n: int = 9, runs: int = 2) -> list[Asked]:
    """Return rows about ``n`` questions, each asked ``runs`` times, with its options in an order of its own each time."""
    draw, found = random.Random(seed), []
    for number in range(n):
        texts = [f"thing {number}{x} of {number * 7 + place}" for place, x in enumerate("wxyz")]
        right = draw.choice(texts)
        for run in range(1, runs + 1):
            shown = tuple(draw.sample(texts, 4))
            found.append(Asked(number, shown, shown.index(right), draw.choice(statuses), run))
    found[0] = found[0]._replace(status="right")  # one at least can be used
    return found


def jsonl(path: Path, found: list[Any]) -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in found))
    return path


def inspect_log(folder: Path, found: list[Asked], form: str) -> Path:
    """Return a log of inspect_ai, ``.json`` or ``.eval``."""
    stops = {"cut": "max_tokens", "refused": "content_filter"}
    samples = []
    for each in found:
        message = {"role": "assistant", "content": each.reply}
        sample: dict[str, Any] = {
            "id": f"q{each.number}", "epoch": each.run, "input": each.question, "choices": list(each.options),
            "target": each.letter, "messages": [{"role": "user", "content": each.question}, message],
            "output": {"model": "m", "choices": [{"message": message, "stop_reason": stops.get(each.status, "stop")}]},
            "scores": {"length": {"value": 3}, "choice": {"value": "C" if each.right else "I"}},
        }  # fmt: skip
        if each.status == "error":
            sample |= {"error": {"message": "gone"}, "output": {"choices": []}, "scores": {}}
        if each.status == "expired":
            sample |= {"limit": {"type": "time"}, "output": {"choices": []}, "scores": {}}
        if each.status == "taken back":
            sample["invalidation"] = {"reason": "wrong key"}
        samples.append(sample)
    about = {"task": "things", "model": "org/m", "scorers": [{"name": "choice"}]}
    header = {"version": 2, "status": "success", "eval": about}
    if form == "json":
        path = folder / "log.json"
        path.write_text(json.dumps({**header, "samples": samples}))
        return path
    with zipfile.ZipFile(path := folder / "log.eval", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(header))
        for sample in samples:
            archive.writestr(f"samples/{sample['id']}_epoch_{sample['epoch']}.json", json.dumps(sample))
    return path


def lm_eval(folder: Path, found: list[Asked], form: str) -> Path:
    """Return samples of lm-eval: written replies of either generation, or weighed options."""
    made = []
    for place, each in enumerate(found):
        doc = {"question": each.question, "choices": list(each.options), "answer": each.key}
        prompt = f"Question: {each.question}\nAnswer:"
        row = {"doc_id": place, "doc": doc, "target": each.letter, "filter": "none", "exact_match": float(each.right),
               "resps": [[each.reply]], "arguments": [[prompt, {"until": []}]]}  # fmt: skip
        if form == "new":
            row["arguments"] = {"gen_args_0": {"arg_0": prompt, "arg_1": {"until": []}}}
        if form == "weighed":
            top = each.key if each.right else (each.key + 1) % 4
            row["arguments"] = [[prompt, f" {text}"] for text in each.options]
            row["resps"] = [[[str(-1.0 - 2 * (n != top)), "False"]] for n in range(4)]
            row |= {"acc": float(each.right), "target": each.key}
        if each.status == "error":
            row["resps"] = []
        made.append(row)
    return jsonl(folder / "samples_things.jsonl", made)


def lighteval(folder: Path, found: list[Asked], form: str) -> Path:
    """Return details of lighteval, of either generation."""
    made = []
    for each in found:
        shown = "\n".join(f"{x}. {text}" for x, text in zip("ABCD", each.options, strict=True))
        query, choices = f"{each.question}\n{shown}\nAnswer:", [f" {x}" for x in "ABCD"]
        texts = [] if each.status == "error" else [each.reply]
        score = {"extractive_match": float(each.right)}
        if form == "new":
            doc = {"query": query, "choices": choices, "gold_index": [each.key]}
            made.append({"doc": doc, "metric": score, "model_response": {"text": texts}})
        else:
            row = {"full_prompt": query, "choices": choices, "gold_index": each.key}
            made.append({**row, "predictions": texts, "metrics": score})
    path = folder / "details_things_2025-01-01T00-00-00.parquet"
    pl.DataFrame(made).write_parquet(path)
    return path


def helm(folder: Path, found: list[Asked], form: str) -> Path:
    """Return the requests of a run of HELM, with the scores in the same folder."""
    states, scores = [], []
    for place, each in enumerate(found):
        options = enumerate(each.options)
        references = [{"output": {"text": x}, "tags": ["correct"] * (n == each.key)} for n, x in options]
        done = {"success": True, "completions": [{"text": each.reply}]}
        states.append({
            "instance": {"input": {"text": each.question}, "references": references, "id": f"id{place}"},
            "output_mapping": dict(zip("ABCD", each.options, strict=True)), "train_trial_index": 0,
            "result": {"success": False, "error": "late"} if each.status == "error" else done,
        })  # fmt: skip
        stat = {"name": {"name": "exact_match"}, "mean": float(each.right)}
        scores.append({"instance_id": f"id{place}", "train_trial_index": 0, "stats": [stat]})
    (folder / "per_instance_stats.json").write_text(json.dumps(scores))
    path = folder / "scenario_state.json"
    path.write_text(json.dumps({"adapter_spec": {"model": "org/m"}, "request_states": states}))
    return path


def open_compass(folder: Path, found: list[Asked], form: str) -> Path:
    """Return predictions of OpenCompass."""
    made = {}
    for place, each in enumerate(found):
        shown = "\n".join(f"{x}. {text}" for x, text in zip("ABCD", each.options, strict=True))
        prompt = f"{each.question}\n{shown}\nAnswer:"
        asked = [{"role": "HUMAN", "prompt": prompt}] if form == "chat" else prompt
        said = None if each.status == "error" else each.reply
        made[str(place)] = {"origin_prompt": asked, "prediction": said, "gold": each.letter}
    path = folder / "things.json"
    path.write_text(json.dumps(made))
    return path


def promptfoo(folder: Path, found: list[Asked], form: str) -> Path:
    """Return results of promptfoo, whose repeats stand under other numbers of a test."""
    made = []
    for place, each in enumerate(found):
        said = {"error": "429"} if each.status == "error" else {"output": each.reply}
        made.append({
            "promptIdx": 0, "testIdx": place, "provider": {"id": "p:m"}, "vars": {}, "success": each.right,
            "prompt": {"raw": each.question}, "response": said,
            "testCase": {"assert": [{"type": "contains", "value": "x"}]},
        })  # fmt: skip
    if form == "lines":
        return jsonl(folder / "out.jsonl", made)
    path = folder / "out.json"
    path.write_text(json.dumps({"results": {"results": made}}))
    return path


def oaieval(folder: Path, found: list[Asked], form: str) -> Path:
    """Return what oaieval records."""
    made: list[dict[str, Any]] = [{"spec": {"completion_fns": ["m"], "eval_name": "things"}}]
    for place, each in enumerate(found):
        base = {"sample_id": f"things.{place}"}
        if each.status == "error":
            made.append({**base, "type": "error", "data": {"message": "late"}})
            continue
        made.append({**base, "type": "sampling", "data": {"prompt": each.question, "sampled": [each.reply]}})
        match = {"correct": each.right, "expected": each.options[each.key]}
        made.append({**base, "type": "match", "data": match})
    return jsonl(folder / "things.jsonl", made)


def every_eval(folder: Path, found: list[Asked], form: str) -> Path:
    """Return single results of Every Eval Ever, their reference a letter, a text or a place."""
    made = []
    for each in found:
        reference = {"letter": each.letter, "text": each.options[each.key], "place": str(each.key)}[form]
        row: dict[str, Any] = {
            "evaluation_id": "e", "model_id": "org/m", "evaluation_name": "things", "sample_id": f"s{each.number}",
            "input": {"raw": each.question, "reference": [reference], "choices": list(each.options)},
            "output": {"raw": [each.reply]}, "evaluation": {"is_correct": each.right},
        }  # fmt: skip
        made.append({**row, "error": "late"} if each.status == "error" else row)
    return jsonl(folder / "things_samples.jsonl", made)


def batch(folder: Path, found: list[Asked], form: str) -> Path:
    """Return the results of a batch: what is asked is named by its id."""
    results = [_BATCHES[form](f"q{each.number}", each) for each in found if each.run == 1]
    return jsonl(folder / "batch.jsonl", results)


def _openai(name: str, each: Asked) -> dict[str, Any]:
    end = {"cut": "length", "refused": "content_filter"}.get(each.status, "stop")
    body = {"model": "m-1", "choices": [{"message": {"content": each.reply}, "finish_reason": end}]}
    if each.status == "expired":
        return {"custom_id": name, "response": None, "error": {"code": "batch_expired"}}
    if each.status == "error":
        late = {"status_code": 429, "body": {"error": {"code": "rate_limit"}}}
        return {"custom_id": name, "response": late}
    return {"custom_id": name, "response": {"status_code": 200, "body": body}, "error": None}


def _anthropic(name: str, each: Asked) -> dict[str, Any]:
    end = {"cut": "max_tokens", "refused": "refusal"}.get(each.status, "end_turn")
    said = {"type": "message", "role": "assistant", "model": "m-1", "stop_reason": end,
            "content": [{"type": "text", "text": each.reply}]}  # fmt: skip
    if each.status in ("expired", "error"):
        error = {"error": {"error": {"type": "overloaded_error"}}} if each.status == "error" else {}
        return {"custom_id": name, "result": {"type": f"{each.status}ed".replace("eded", "ed"), **error}}
    return {"custom_id": name, "result": {"type": "succeeded", "message": said}}


def _gemini(name: str, each: Asked) -> dict[str, Any]:
    end = {"cut": "MAX_TOKENS", "refused": "SAFETY"}.get(each.status, "STOP")
    parts = {"parts": [{"text": each.reply}], "role": "model"}
    said = {"candidates": [{"finishReason": end, "content": parts}], "modelVersion": "m-1"}
    if each.status in ("error", "expired"):
        return {"key": name, "error": {"code": 13, "message": "internal"}}
    return {**({"metadata": {"key": name}} if each.number % 2 else {"key": name}), "response": said}


_BATCHES = {"openai": _openai, "anthropic": _anthropic, "gemini": _gemini}


def table(folder: Path, found: list[Asked], form: str) -> Path:
    """Return a plain table that brings its questions."""
    made = [
        {"id": f"q{each.number}", "question": each.question, "options": list(each.options), "answer": each.letter,
         "response": None if each.status == "error" else each.reply, "model": "m", "run": each.run}
        for each in found
    ]  # fmt: skip
    path = folder / f"things.{form}"
    if form == "parquet":
        pl.DataFrame(made).write_parquet(path)
    elif form == "json":
        path.write_text(json.dumps(made))
    elif form == "jsonl":
        jsonl(path, made)
    else:
        with path.open("w", newline="") as out:
            writer = csv.DictWriter(out, list(made[0]), delimiter="\t" if form == "tsv" else ",")
            writer.writeheader()
            writer.writerows({**row, "options": json.dumps(row["options"])} for row in made)
    return path


#: What writes a format, its versions, and the statuses it has a word for.
_ALWAYS = ("right", "wrong", "unreadable", "error")
FORMATS = {
    "inspect": (inspect_log, ("json", "eval"), STATUSES),
    "lm-eval": (lm_eval, ("old", "new", "weighed"), _ALWAYS),
    "lighteval": (lighteval, ("old", "new"), _ALWAYS),
    "helm": (helm, ("1",), _ALWAYS),
    "opencompass": (open_compass, ("chat", "text"), _ALWAYS),
    "promptfoo": (promptfoo, ("whole", "lines"), _ALWAYS),
    "oaieval": (oaieval, ("1",), _ALWAYS),
    "every-eval": (every_eval, ("letter", "text", "place"), _ALWAYS),
    "batch": (batch, tuple(_BATCHES), ("right", "wrong", "unreadable", "cut", "refused", "error", "expired")),
    "table": (table, ("csv", "tsv", "json", "jsonl", "parquet"), _ALWAYS),
}
