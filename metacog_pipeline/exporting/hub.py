"""``hf`` and ``csv``: the tables of a study with a dataset card: fields, licences, how it was made.

``hf`` is a folder that Hugging Face's libraries load; ``csv`` has a file per table.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq

from metacog_pipeline.exporting import tables
from metacog_pipeline.exporting.citing import bibtex
from metacog_pipeline.exporting.facts import Facts
from metacog_pipeline.interchange.logs.exported import ANSWERS

Configs = dict[str, dict[str, pl.DataFrame]]  # configuration → split → rows
Paths = dict[tuple[str, str], str]  # configuration and split → file in the folder
_SHOWN_FIRST = "leaderboard"
_OWN = {
    ANSWERS: "One row: one call and its answer, the splits are benchmarks. `metacog import` reads these again.",
    "items": "One row: what is asked. Where a licence forbids copies, its id and digest only.",
    "responses": "One row: what was read of a model's answer to an item, and its score.",
}


def write_parquet(facts: Facts, folder: Path) -> list[str]:
    """Write a Parquet file per split in the layout of Hugging Face's libraries, and the card."""
    configs = _configs(facts)
    paths: Paths = {}
    for name, splits in configs.items():
        for split, frame in splits.items():
            paths[name, split] = f"data/{name}/{split}.parquet"
            if name == ANSWERS:
                continue  # `Facts.write_again` writes them, in every format
            path = folder / paths[name, split]
            path.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(frame.to_arrow(), path, compression="zstd")
    return _described(facts, folder, "hf", configs, paths)


def write_csv(facts: Facts, folder: Path) -> list[str]:
    """Write a CSV file per table, the calls of all benchmarks in one, and the card."""
    together = {name: {"test": pl.concat(splits.values())} for name, splits in _configs(facts).items()}
    for name, splits in together.items():
        tables.write_csv(folder / f"{name}.csv", splits["test"])
    return _described(facts, folder, "csv", together, {(name, "test"): f"{name}.csv" for name in together})


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


def _described(facts: Facts, folder: Path, form: str, configs: Configs, paths: Paths) -> list[str]:
    """Write what goes with the tables: what `metacog import` reads, and the card; return the line about them."""
    about = facts.write_again(folder, {"format": form})
    (folder / "README.md").write_text(_card(facts, about, configs, paths), encoding="utf-8")
    rows = sum(frame.height for splits in configs.values() for frame in splits.values())
    return [f"{len(configs)} tables, {rows:,} rows"]


def _card(facts: Facts, about: dict[str, Any], configs: Configs, paths: Paths) -> str:
    text = [*_head(about, configs, paths), *_made(about), *_licences(about), "## Fields", ""]
    meaning = facts.described()
    for name, splits in configs.items():
        frame = next(iter(splits.values()))
        own = name.partition("-")[0]
        text += [f"### {name}", "", *([_OWN[own], ""] if own in _OWN else [])]
        words = meaning.get(name) or meaning.get(f"{name.partition('-')[2]}_{own}") or meaning.get(own) or {}
        text += ["| field | type | meaning |", "| --- | --- | --- |"]
        text += [
            f"| {column} | {kind} | {_plain(words.get(column, ''))} |"
            for column, kind in frame.schema.items()
        ]
        text.append("")
    return "\n".join([*text, "## Cite", "", "```bibtex", bibtex(facts.study).rstrip(), "```", ""])


def _head(about: dict[str, Any], configs: Configs, paths: Paths) -> list[str]:
    lines = ["---", f"pretty_name: {json.dumps(about['study'])}", "license: other", "configs:"]
    for name in sorted(configs, key=lambda each: (each != _SHOWN_FIRST, each)):
        lines += [f"- config_name: {json.dumps(name)}", "  data_files:"]
        for split in configs[name]:
            lines += [
                f"  - split: {split.replace('-', '_')}",
                f"    path: {json.dumps(paths[name, split])}",
            ]
    return [*lines, "---", ""]


def _made(about: dict[str, Any]) -> list[str]:
    papers = [
        f"- `{name}`: {each['title']}. {each['paper']['authors']} ({each['paper']['year']}). {each['paper']['title']}. "
        f"{each['paper']['url']}".rstrip()
        for name, each in about["benchmarks"].items()
    ]
    return [
        f"# {about['study']}", "",
        f"What language models know about what they know, measured with metacog_pipeline {about['version']} "
        f"(snapshot {about['snapshot']}, seed {about['seed']}).", "",
        "## How it was made", "", *papers, "",
        "Every answer is one row of `transcripts`. They are read, scored and compared by the program, with the settings in "
        "`study.toml`; `metacog import FOLDER --study new.toml` makes the same board from them. Keys, credentials and "
        "paths of the machine were taken out before this was written.", "",
    ]  # fmt: skip


def _licences(about: dict[str, Any]) -> list[str]:
    lines = [
        "## Licences",
        "",
        "| benchmark | source | licence | SHA-256 | items here |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, each in about["benchmarks"].items():
        rows = each["sources"] or [
            {"name": "shipped, generated or the study's own", "licence": "", "sha256": ""}
        ]
        lines += [
            f"| {name} | {_plain(row['name'])} | {_plain(row['licence'])} | {row['sha256'] or ''} | {each['items']} |"
            for row in rows
        ]
    return [*lines, ""]


def _plain(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
