"""A page for each model: its profile, and its transcripts to search and page through.

The page opens from disk. What models wrote lies in data files beside it, as JSON without a single ``<``, and is only ever
set as text; the page may run our script and these files, nothing else.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import polars as pl
from markupsafe import Markup

from metacog_pipeline.errors import SourceError, one_line
from metacog_pipeline.files import sha256_hex, write_changed
from metacog_pipeline.home import Home
from metacog_pipeline.report import pieces, queries
from metacog_pipeline.report.explorer.data import file_of
from metacog_pipeline.transcripts.folder import kept_folders

FOLDER = "models"
SCRIPT = "transcripts.js"
_NOTE = "made_from.txt"  # what the data files were made from; no hidden file, which `metacog verify` would not read
ROWS_A_FILE = 1000
_ERROR = ("error_kind", "error_code", "error_message")
_TOLD = ("reasoning_text", *_ERROR)  # texts that not every file has
CHARACTERS = 4000  # of an answer, a thought or a question: more stays in the store, and the page says so
_COLUMNS = (
    *("benchmark", "item_id", "condition", "step", "run", "status", "text", "characters", "prompt"),
    *("latency_s", "cost_usd", "reasoning", "thought", "why"),
)


def write_model_pages(home: Home, report: Path) -> dict[str, str]:
    """Write a page for every listed model below ``report`` and return model → address relative to it.

    Pages of models that are not listed any more are removed.
    """
    folder = report / FOLDER
    models = [model for _, model in queries.models(home)]
    kept = set(map(file_of, models))
    for old in folder.glob("*"):
        if old.is_dir() and old.name not in kept:
            shutil.rmtree(old)
    if models:
        write_changed(folder / SCRIPT, pieces.script(SCRIPT))
    found, about = queries.headlines(home), queries.about(home)
    return {
        model: _write_page(
            home, folder / file_of(model), model, [each for each in found if each.model == model], about
        )
        for model in models
    }


def _write_page(
    home: Home,
    folder: Path,
    model: str,
    headlines: Sequence[queries.Headline],
    about: Mapping[str, queries.About],
) -> str:
    files = _data_files(home, folder, model)
    columns = ("benchmark", "headline", "value", "n", "coverage")
    body = [
        (name := each.benchmark, about[name].headline.removeprefix(f"{name} "),
         pieces.interval(each.estimate, each.low, each.high, digits=4, low_n=each.low_n), each.n, each.coverage)
        for each in headlines
    ]  # fmt: skip
    with pieces.told(model=model, up="../../"):
        shown = pieces.table(columns, body, "Headlines") if body else pieces.paragraph("No headline yet.")
    shown += pieces.about_low_n(any(each.low_n for each in headlines))
    listed = Markup(json.dumps([file.name for file in files]).replace("<", "\\u003c"))
    made = pieces.page("model.html.jinja", model=model, headlines=shown, files=listed, script=SCRIPT)
    write_changed(folder / "index.html", made)
    return f"{FOLDER}/{folder.name}/index.html"


def _data_files(home: Home, folder: Path, model: str) -> list[Path]:
    """Write the files of a model's answers where those, or what writes them, have changed since; return them."""
    kept = [(home.key(path), path.stat()) for path in _answers(home, model)]
    code = Path(__file__).read_bytes()
    mark = sha256_hex(code + repr([(name, each.st_size, each.st_mtime_ns) for name, each in kept]).encode())
    noted, files = folder / _NOTE, sorted(folder.glob("answers-*.js"))
    if noted.is_file() and noted.read_bytes() == f"{mark} {len(files)}".encode():
        return files
    made = [_data_file(folder, place, part) for place, part in enumerate(_parts(home, model))]
    for old in set(files) - set(made):
        old.unlink()
    folder.mkdir(parents=True, exist_ok=True)
    write_changed(noted, f"{mark} {len(made)}")
    return made


def _answers(home: Home, model: str) -> list[Path]:
    copies = (folder.copy for folder in kept_folders(home, model=file_of(model)))
    return [copy for copy in copies if copy.exists()]


def _data_file(folder: Path, place: int, part: pl.DataFrame) -> Path:
    rows = [list(row) for row in part.iter_rows()]
    text = json.dumps([place, list(_COLUMNS), rows], allow_nan=False)[1:-1].replace("<", "\\u003c")
    path = folder / f"answers-{place:05d}.js"
    write_changed(path, f"chunk({text});\n")
    return path


def _parts(home: Home, model: str) -> Iterator[pl.DataFrame]:
    """Yield the model's current answers, in the order of asking, some at a time."""
    for path in _answers(home, model):
        try:
            yield from _whole(path).iter_slices(ROWS_A_FILE)
        except (OSError, pl.exceptions.PolarsError) as error:
            why = one_line(str(error), 120)
            raise SourceError(
                f"{path}: cannot be read ({why}); delete it and run `metacog run` again, answers are kept in the journals"
            ) from None


def _whole(path: Path) -> pl.DataFrame:
    kept = pl.scan_parquet(path, glob=False, hive_partitioning=False).filter(~pl.col("superseded"))
    there = kept.collect_schema()  # files of the first version have no thoughts
    kept = kept.with_columns(pl.lit(None, pl.String).alias(name) for name in _TOLD if name not in there)
    try:
        return kept.select(*_shown(_asked())).collect()
    except pl.exceptions.ComputeError:  # a request nobody here has written: shown as it stands
        return kept.select(*_shown(pl.col("request_json"))).collect()


def _shown(asked: pl.Expr) -> list[pl.Expr]:
    text, thought = pl.col("text").fill_null(""), pl.col("reasoning_text").fill_null("")
    made = {
        "text": text.str.slice(0, CHARACTERS),
        "characters": text.str.len_chars(),
        "prompt": asked.fill_null("").str.slice(0, CHARACTERS),
        "latency_s": pl.col("latency_s").round(3),
        "reasoning": thought.str.slice(0, CHARACTERS),
        "thought": thought.str.len_chars(),
        "why": pl.concat_str(*_ERROR, separator=": ", ignore_nulls=True),
    }
    return [made.get(name, pl.col(name)).alias(name) for name in _COLUMNS]


def _asked() -> pl.Expr:
    """Return the texts of a request's messages, one under the other."""
    kind = pl.Struct({"messages": pl.List(pl.List(pl.String))})
    messages = pl.col("request_json").str.json_decode(kind).struct.field("messages")
    return messages.list.eval(pl.element().list.join(": ")).list.join("\n\n")
