"""The data dictionary: what the header of every SQL file says, as one Markdown page."""

from __future__ import annotations

from pathlib import Path

from metacog_pipeline.leaderboard.models import LAYERS, SqlModel, load_project

_TITLES = {
    "marts": "Tables to read",
    "intermediate": "Tables between",
    "staging": "Views on the files",
}


def dictionary(folder: Path | None = None) -> str:
    """Return every table with what one row is, its key, its source, its columns of note and its tests.

    Raises
    ------
    StoreError
        As `load_project`.
    """
    models = load_project(folder).models
    parts = [
        "# Data dictionary\n",
        "Made from the headers of `dbt_like_sql/`; the same texts are comments in the database.",
    ]
    for layer in reversed(LAYERS):
        own = sorted((model for model in models if model.layer == layer), key=lambda model: model.name)
        if own:
            parts.append(f"## {_TITLES[layer]}")
            parts += [_entry(model) for model in own]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _entry(model: SqlModel) -> str:
    lines = [f"### {model.name}", "", model.description.strip()]
    if model.columns:
        lines += ["", "| column | meaning |", "| --- | --- |"]
        lines += [f"| `{name}` | {_cell(text)} |" for name, text in model.columns]
    if model.assertions:
        lines += [
            "",
            "Held by tests: " + ", ".join(f"`{_cell(str(each))}`" for each in model.assertions) + ".",
        ]
    return "\n".join(lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
