"""``hf`` and ``csv``: the tables of a study with a dataset card: fields, licences, how it was made.

``hf`` is a folder that Hugging Face's libraries load; ``csv`` has a file per table.
"""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq

from metacog_pipeline.exporting.facts import Facts, csv_of

Configs = dict[str, dict[str, pl.DataFrame]]  # configuration → split → rows
ANSWERS = "transcripts"
_OWN = {
    ANSWERS: "One row: one call and its answer, the splits are benchmarks.",
    "items": "One row: what is asked. Where a licence forbids copies, its id and digest only.",
    "responses": "One row: what was read of a model's answer to an item, and its score.",
}


def write_parquet(facts: Facts, folder: Path) -> str:
    """Write a Parquet file per split in the layout of Hugging Face's libraries, and the card."""
    configs = _configs(facts)
    for name, splits in configs.items():
        (folder / "data" / name).mkdir(parents=True)
        for split, frame in splits.items():
            path = folder / "data" / name / f"{split}.parquet"
            pq.write_table(frame.to_arrow(), path, compression="zstd")
    return _described(facts, folder, configs, "data/{}/{}.parquet")


def write_csv(facts: Facts, folder: Path) -> str:
    """Write a CSV file per table, the calls of all benchmarks in one, and the card."""
    together = {name: {"test": pl.concat(splits.values())} for name, splits in _configs(facts).items()}
    for name, splits in together.items():
        (folder / f"{name}.csv").write_bytes(csv_of(splits["test"]))
    return _described(facts, folder, together, "{}.csv")


def _configs(facts: Facts) -> Configs:
    """Return every table, the items, the responses and the calls, as configurations of a data set."""
    configs: Configs = {name: {"test": frame} for name, frame in facts.tables()}
    for benchmark in facts.benchmarks():
        configs[f"items-{benchmark.name}"] = {"test": facts.items(benchmark)}
        if (found := facts.responses(benchmark)).height:
            configs[f"responses-{benchmark.name}"] = {"test": found}
        if (found := facts.answers(benchmark)).height:
            configs.setdefault(ANSWERS, {})[benchmark.name] = found
    return configs


def _described(facts: Facts, folder: Path, configs: Configs, place: str) -> str:
    """Write the card: its head for Hugging Face, papers, licences, every field of every table; return a line."""
    about = facts.about()
    text = ["---", f"pretty_name: {json.dumps(about['study'])}", "license: other", "configs:"]
    for name in sorted(configs, key=lambda each: (each != "leaderboard", each)):
        text += [f"- config_name: {json.dumps(name)}", "  data_files:"]
        for split in configs[name]:
            text.append(f"  - split: {split.replace('-', '_')}")
            text.append(f"    path: {json.dumps(place.format(name, split))}")
    text += [
        "---", "", f"# {about['study']}", "",
        f"What language models know about what they know, measured with metacog_pipeline {about['version']} "
        f"(snapshot {about['snapshot']}, seed {about['seed']}). Every answer is one row of `transcripts`; the archive of "
        "`metacog export --format bundle` rebuilds every table from them. Keys, credentials and paths of the machine were "
        "taken out.", "",
    ]  # fmt: skip
    licences = []
    for name, each in about["benchmarks"].items():
        paper = each["paper"]
        cited = f"{paper['authors']} ({paper['year']}). {paper['title']}. {paper['url']}"
        text.append(f"- `{name}`: {each['title']}. {cited}".rstrip())
        for row in each["sources"] or [{"name": "shipped, generated or the study's own"}]:
            licence = (row.get(field) or "" for field in ("name", "licence", "sha256"))
            licences.append(_row(name, *licence, each["items"]))
    head = _row("benchmark", "source", "licence", "SHA-256", "items here")
    text += ["", "## Licences", "", head, "| --- | --- | --- | --- | --- |", *licences, "", "## Fields", ""]
    meaning = facts.described()
    for name, splits in configs.items():
        own, _, of = name.partition("-")
        words = meaning.get(name) or meaning.get(f"{of}_{own}") or meaning.get(own) or {}
        text += [f"### {name}", "", *([_OWN[own], ""] if own in _OWN else [])]
        text += [_row("field", "type", "meaning"), "| --- | --- | --- |"]
        schema = next(iter(splits.values())).schema
        text += [_row(column, kind, words.get(column, "")) for column, kind in schema.items()] + [""]
    (folder / "README.md").write_text("\n".join(text), encoding="utf-8")
    rows = sum(frame.height for splits in configs.values() for frame in splits.values())
    return f"{len(configs)} tables, {rows:,} rows"


def _row(*cells: object) -> str:
    plain = (str(each).replace("|", "\\|").replace("\n", " ") for each in cells)
    return f"| {' | '.join(plain)} |"
