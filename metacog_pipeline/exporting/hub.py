"""``hf`` and ``csv``: the tables of a study with a dataset card: fields, licences, how it was made.

``hf`` is a folder that Hugging Face's libraries load; ``csv`` has a file per table.
"""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl

from metacog_pipeline.exporting import ARCHIVE
from metacog_pipeline.exporting.facts import Facts, write_parquet
from metacog_pipeline.exporting.facts import write_csv as write_one

Configs = dict[str, dict[str, pl.DataFrame]]  # configuration → split → rows
Paths = dict[tuple[str, str], str]  # configuration and split → file in the folder
ANSWERS = "transcripts"
_SHOWN_FIRST = "leaderboard"
_OWN = {
    ANSWERS: "One row: one call and its answer, the splits are benchmarks.",
    "items": "One row: what is asked. Where a licence forbids copies, its id and digest only.",
    "responses": "One row: what was read of a model's answer to an item, and its score.",
}


def write_parquet_tables(facts: Facts, folder: Path) -> str:
    """Write a Parquet file per split in the layout of Hugging Face's libraries, and the card."""
    configs = _configs(facts)
    paths = {(name, split): f"data/{name}/{split}.parquet" for name in configs for split in configs[name]}
    for (name, split), path in paths.items():
        write_parquet(folder / path, configs[name][split])
    return _described(facts, folder, configs, paths)


def write_csv(facts: Facts, folder: Path) -> str:
    """Write a CSV file per table, the calls of all benchmarks in one, and the card."""
    together = {name: {"test": pl.concat(splits.values())} for name, splits in _configs(facts).items()}
    for name, splits in together.items():
        write_one(folder / f"{name}.csv", splits["test"])
    return _described(facts, folder, together, {(name, "test"): f"{name}.csv" for name in together})


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


def _described(facts: Facts, folder: Path, configs: Configs, paths: Paths) -> str:
    (folder / "README.md").write_text(_card(facts, configs, paths), encoding="utf-8")
    rows = sum(frame.height for splits in configs.values() for frame in splits.values())
    return f"{len(configs)} tables, {rows:,} rows"


def _card(facts: Facts, configs: Configs, paths: Paths) -> str:
    """Return the card: its head for Hugging Face, papers, licences, and every field of every table."""
    about = facts.about()
    text = ["---", f"pretty_name: {json.dumps(about['study'])}", "license: other", "configs:"]
    for name in sorted(configs, key=lambda each: (each != _SHOWN_FIRST, each)):
        text += [f"- config_name: {json.dumps(name)}", "  data_files:"]
        for split in configs[name]:
            path = json.dumps(paths[name, split])
            text += [f"  - split: {split.replace('-', '_')}", f"    path: {path}"]
    text += [
        "---", "", f"# {about['study']}", "",
        f"What language models know about what they know, measured with metacog_pipeline {about['version']} "
        f"(snapshot {about['snapshot']}, seed {about['seed']}).", "", "## How it was made", "",
    ]  # fmt: skip
    for name, each in about["benchmarks"].items():
        paper = each["paper"]
        cited = f"{paper['authors']} ({paper['year']}). {paper['title']}. {paper['url']}"
        text.append(f"- `{name}`: {each['title']}. {cited}".rstrip())
    text += [
        "", "Every answer is one row of `transcripts`. They are read, scored and compared by the program; "
        f"`metacog doctor --bundle {ARCHIVE} --to FOLDER` rebuilds every table from them. Keys, credentials and paths of "
        "the machine were taken out.", "", "## Licences", "",
        "| benchmark | source | licence | SHA-256 | items here |", "| --- | --- | --- | --- | --- |",
    ]  # fmt: skip
    shipped = [{"name": "shipped, generated or the study's own", "licence": "", "sha256": ""}]
    for name, each in about["benchmarks"].items():
        for row in each["sources"] or shipped:
            cells = (name, row["name"], row["licence"], row["sha256"] or "", each["items"])
            text.append(f"| {' | '.join(map(_plain, cells))} |")
    text += ["", "## Fields", ""]
    meaning = facts.described()
    for name, splits in configs.items():
        own, _, of = name.partition("-")
        text += [f"### {name}", "", *([_OWN[own], ""] if own in _OWN else [])]
        words = meaning.get(name) or meaning.get(f"{of}_{own}") or meaning.get(own) or {}
        text += ["| field | type | meaning |", "| --- | --- | --- |"]
        for column, kind in next(iter(splits.values())).schema.items():
            text.append(f"| {column} | {kind} | {_plain(words.get(column, ''))} |")
        text.append("")
    return "\n".join(text)


def _plain(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
