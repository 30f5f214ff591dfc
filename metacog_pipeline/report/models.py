"""A page for each model: its profile, and its transcripts to search and page through.

The page opens from disk. What models wrote lies in data files beside it, as JSON without a single ``<``, and is only ever
set as text; the page may run our script and these files, nothing else.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl

from metacog_pipeline.files import sha256_hex, write_text
from metacog_pipeline.leaderboard.read import Rows, read_table
from metacog_pipeline.llm.spec import SLUG_PATTERN
from metacog_pipeline.report.html import paragraph, table, words
from metacog_pipeline.report.style import STYLE

FOLDER = "models"
_SLUG = re.compile(SLUG_PATTERN)
SCRIPT = "transcripts.js"
ROWS_A_FILE = 1000
CHARACTERS = 4000  # of an answer, and of what was asked: more stays in the store, and the page says so
_COLUMNS = (
    *("benchmark", "item_id", "condition", "step", "run", "status", "text", "characters", "prompt"),
    *("latency_s", "cost_usd"),
)
_NO_SCRIPT = "The table below needs scripts to be allowed for this page."
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'self' file:"


def write_model_pages(home: Path, report: Path) -> dict[str, str]:
    """Write a page for every listed model below ``report`` and return model → address relative to it.

    Pages of models that are not listed any more are removed.
    """
    folder = report / FOLDER
    profiles = _profiles(home)
    kept = set(map(_folder_name, profiles))
    for old in folder.glob("*"):
        if old.is_dir() and old.name not in kept:
            shutil.rmtree(old)
    if profiles:
        write_text(folder / SCRIPT, (Path(__file__).parent / "static" / SCRIPT).read_text("utf-8"))
    return {
        model: _write_page(home, folder / _folder_name(model), model, profile)
        for model, profile in profiles.items()
    }


def _folder_name(model: str) -> str:
    """Return the name of a model's folder: its own, or a digest where a table holds a name no study file could."""
    return model if _SLUG.fullmatch(model) else f"model-{sha256_hex(model)[:16]}"


def _profiles(home: Path) -> dict[str, Rows]:
    """Return model → its headlines, a row per benchmark."""
    found = read_table(home, "from profile")
    pages: dict[str, Rows] = {}
    for row in found.rows:
        named = dict(zip(found.columns, row, strict=True))
        rows = [
            (
                name,
                named[name],
                named[f"{name}_low"],
                named[f"{name}_high"],
                named[f"{name}_n"],
                named[f"{name}_coverage"],
            )
            for name in found.columns
            if f"{name}_low" in named and named[name] is not None
        ]
        pages[str(named["model"])] = Rows(
            ("benchmark", "headline", "low", "high", "n", "coverage"), tuple(rows)
        )
    return pages


def _write_page(home: Path, folder: Path, model: str, profile: Rows) -> str:
    files = [_data_file(folder, place, part) for place, part in enumerate(_parts(home, model))]
    for old in set(folder.glob("answers-*.js")) - set(files):
        old.unlink()
    write_text(folder / "index.html", _page(model, profile, [file.name for file in files]))
    return f"{FOLDER}/{folder.name}/index.html"


def _data_file(folder: Path, place: int, part: pl.DataFrame) -> Path:
    rows = [list(row) for row in part.iter_rows()]
    text = json.dumps([place, list(_COLUMNS), rows], allow_nan=False)[1:-1].replace("<", "\\u003c")
    path = folder / f"answers-{place:05d}.js"
    write_text(path, f"chunk({text});\n")
    return path


def _parts(home: Path, model: str) -> Iterator[pl.DataFrame]:
    """Yield the model's current answers, in the order of asking, some at a time."""
    pattern = f"benchmark=*/model={_folder_name(model)}/run=*/transcripts.parquet"
    for path in sorted((home / "transcripts").glob(pattern)):
        kept = pl.scan_parquet(path, hive_partitioning=False).filter(~pl.col("superseded"))
        try:
            frame = kept.select(*_shown(_asked())).collect()
        except pl.exceptions.ComputeError:  # a request nobody here has written: shown as it stands
            frame = kept.select(*_shown(pl.col("request_json"))).collect()
        yield from frame.iter_slices(ROWS_A_FILE)


def _shown(asked: pl.Expr) -> list[pl.Expr]:
    text = pl.col("text").fill_null("")
    made = {
        "text": text.str.slice(0, CHARACTERS),
        "characters": text.str.len_chars(),
        "prompt": asked.fill_null("").str.slice(0, CHARACTERS),
        "latency_s": pl.col("latency_s").round(3),
    }
    return [made.get(name, pl.col(name)).alias(name) for name in _COLUMNS]


def _asked() -> pl.Expr:
    """Return the texts of a request's messages, one under the other."""
    kind = pl.Struct({"messages": pl.List(pl.List(pl.String))})
    messages = pl.col("request_json").str.json_decode(kind).struct.field("messages")
    return messages.list.eval(pl.element().list.join(": ")).list.join("\n\n")


def _page(model: str, profile: Rows, files: list[str]) -> str:
    filters = "".join(
        f'<select id="{name}" aria-label="{name}"></select>'
        for name in ("benchmark", "condition", "step", "status", "run")
    )
    shown = table(profile, "Headlines") if profile.rows else paragraph("No headline yet.")
    listed = json.dumps(files).replace("<", "\\u003c")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        f"<title>{words(model)}</title>\n<style>{STYLE}{_OWN_STYLE}</style></head>\n<body>"
        f'<header><p><a href="../../index.html">report</a></p><h1>{words(model)}</h1></header>\n<main>{shown}'
        f"<h2>Transcripts</h2><noscript>{paragraph(_NO_SCRIPT)}</noscript>"
        f'<div class="bar"><input id="words" type="search" placeholder="search answers and questions" '
        f'aria-label="search">{filters}<button id="csv">CSV</button></div>'
        '<p class="soft" id="state" role="status"></p>'
        '<p class="odd" id="lost" hidden>A data file could not be read: write the report again.</p>'
        '<div class="wide"><table class="answers"><thead><tr><th>item</th><th>asked as</th><th>status</th><th>answer</th>'
        '</tr></thead><tbody id="answers"></tbody></table></div>'
        '<div class="bar"><button id="back">back</button><span id="where" role="status"></span>'
        '<button id="next">next</button></div></main>\n'
        f'<script type="application/json" id="files">{listed}</script>\n<script src="../{SCRIPT}"></script></body></html>\n'
    )


_OWN_STYLE = """
.bar { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; margin: .75rem 0; }
.bar input { flex: 1 1 16rem; } .bar input, .bar select, .bar button { font: inherit; padding: .25rem .5rem;
  color: var(--ink); background: var(--paper); border: 1px solid var(--line); border-radius: .25rem; max-width: 100%; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: 0; font: inherit; unicode-bidi: isolate; max-height: 20rem;
  overflow-y: auto; }
.answers td:last-child { min-width: 18rem; } .odd { color: #c2483f; }
@media (max-width: 40rem) { .answers thead { display: none; } .answers td:last-child { min-width: 0; }
  .answers, .answers tbody, .answers tr, .answers th, .answers td { display: block; max-width: none; position: static; }
  .answers th, .answers td:not(:last-child) { border: 0; padding-bottom: 0; } }
"""


def links(pages: Mapping[str, str]) -> str:
    """Return a line of links to the pages."""
    listed = "".join(
        f'<li><a href="{words(address)}">{words(model)}</a></li>' for model, address in pages.items()
    )
    return f'<nav aria-label="Models"><ul>{listed}</ul></nav>' if listed else ""
