"""The explorer as files beside the report: it opens from disk, without a server, up to `MOST_ANSWERS` answers."""

from __future__ import annotations

import contextlib
import functools
import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlencode

from metacog_pipeline.files import sha256_hex, write_changed
from metacog_pipeline.home import Home
from metacog_pipeline.report import pieces, queries
from metacog_pipeline.report.escapes import script_data
from metacog_pipeline.report.explorer import data
from metacog_pipeline.report.explorer.data import Benchmark

FOLDER, PAGE, SCRIPT = "explore", "index.html", "explorer.js"
MOST_ANSWERS = (
    100_000  # about 400 MB of files; beyond it `metacog report --explore` makes them when they are asked for
)
# Benchmark and model whose rows a file of the home holds.
_OF_MODEL = re.compile(
    r"\w+/(?:benchmark=)?(?P<benchmark>[^/]+)/(?:runs/)?(?:model=|models/)(?P<model>[^/]+?)(?:/|\.parquet)"
)
_NOTE = "made_from.json"  # what the files of each model were made from
#: Slices a query fetches, and answers it may fetch where they are more: few queries, and never all texts in memory.
_AT_ONCE, _ANSWERS_AT_ONCE = 25, 2500


def write_explorer(home: Home, report: Path, name: str) -> Sequence[Benchmark]:
    """Write the explorer below ``report`` and return what it shows; nothing where there is too much or nothing.

    Files of models whose answers did not change are left as they are, and those of an older explorer removed.
    """
    folder = report / FOLDER
    found = data.contents(home) if data.n_answers(home) <= MOST_ANSWERS else []
    if not found:
        shutil.rmtree(folder, ignore_errors=True)
        return ()
    noted, made_from = _noted(folder), _made_from(home, found)
    files = {folder / SCRIPT: script(), folder / PAGE: page(name, found, back="../index.html")}
    for path, content in files.items():
        write_changed(path, content)
    kept = set(files)
    for number, benchmark in enumerate(found):
        kept |= {path for path, _ in _shared(home, folder, number, benchmark)}
        of_models = {model: _of_model(folder, number, benchmark, model) for model in benchmark.models}
        stale = [
            model
            for model, paths in of_models.items()
            if noted.get(f"{number} {model}") != made_from[f"{number} {model}"]
            or not all(path.is_file() for path in paths)
        ]
        _write_models(home, folder, number, benchmark, stale)
        kept |= {path for paths in of_models.values() for path in paths}
    for old in set(folder.glob("[!.]*")) - kept:
        old.unlink()
    write_changed(folder / _NOTE, json.dumps(made_from))
    return found


def _shared(home: Home, folder: Path, number: int, benchmark: Benchmark) -> Iterator[tuple[Path, str]]:
    """Write the files that no model has a part in; yield each with its content."""
    made = [(folder / f"questions-{number}.js", data.questions(home, number, benchmark))]
    for wanted in _some(benchmark.slices, 1):
        paths = [folder / f"items-{number}-{slice_}.js" for slice_ in wanted]
        made += zip(paths, data.items(home, number, benchmark, wanted), strict=True)
    for path, content in made:
        write_changed(path, content)
        yield path, content


def _of_model(folder: Path, number: int, benchmark: Benchmark, model: str) -> list[Path]:
    own = data.file_of(model)
    slices = [folder / f"answers-{number}-{slice_}-{own}.js" for slice_ in benchmark.slices]
    return [folder / f"grid-{number}-{own}.js", *slices]


def _write_models(home: Home, folder: Path, number: int, benchmark: Benchmark, models: Sequence[str]) -> None:
    if not models:
        return
    for model, content in data.grids(home, number, benchmark, models).items():
        write_changed(folder / f"grid-{number}-{data.file_of(model)}.js", content)
    for wanted in _some(benchmark.slices, len(models)):
        for (model, slice_), content in data.answers(home, number, benchmark, models, wanted).items():
            write_changed(folder / f"answers-{number}-{slice_}-{data.file_of(model)}.js", content)


def _some(slices: range, models: int) -> Iterator[range]:
    """Yield as many slices as a query fetches of ``models``."""
    some = max(_AT_ONCE, _ANSWERS_AT_ONCE // (models * data.ITEMS_A_SLICE))
    return (slices[first : first + some] for first in slices[::some])


def _made_from(home: Home, found: Sequence[Benchmark]) -> dict[str, str]:
    """Return the digest of everything the files of each benchmark and model are made from."""
    tables = "select one.name, one.digest from (select unnest(tables) as one from snapshot) order by all"
    rules = [queries.rows(home, tables), home.texts.is_file()]
    begun = sha256_hex(Path(data.__file__).read_bytes() + repr(rules).encode())
    own: dict[tuple[str, str], list[tuple[str, str]]] = {}
    items: dict[str, str] = {}
    for file, digest in queries.rows(home, "select file, digest from inputs order by file"):
        if of := _OF_MODEL.match(file):
            own.setdefault((of["benchmark"], of["model"]), []).append((file, digest))
        elif file.startswith("items/"):
            items[file] = digest
    return {
        f"{number} {model}": sha256_hex(repr((begun, items, each, own.get((each.name, model)))))
        for number, each in enumerate(replace(each, models=()) for each in found)
        for model in found[number].models
    }


def _noted(folder: Path) -> dict[str, str]:
    with contextlib.suppress(OSError, ValueError):
        found = json.loads((folder / _NOTE).read_text("utf-8"))
        return found if isinstance(found, dict) else {}
    return {}


def leads(found: Sequence[Benchmark]) -> pieces.Lead | None:
    """Return where the numbers of a row lead, relative to the report: to the answers of the model, or to all items.

    A row names its model, benchmark and condition. One of printed values leads nowhere; one that names no model of the
    explorer leads to the items of its benchmark where its table is ``ours``, and one of a model over all benchmarks to its
    answers on the first.
    """
    models = {each.name: frozenset(each.models) for each in found}
    encoded = functools.lru_cache(maxsize=None)(urlencode)  # most tables have a row per model

    def lead(row: Mapping[str, object]) -> str | None:
        model = row.get("model")
        benchmark = row.get("benchmark") or next((name for name, own in models.items() if model in own), "")
        names = (
            ("benchmark", "model", "condition") if model in models.get(str(benchmark), ()) else ("benchmark",)
        )
        if row.get("source") == "published" or benchmark not in models or not (row.get("ours") or names[1:]):
            return None
        asked = {"benchmark": benchmark} | {name: row[name] for name in names if row.get(name)}
        return f"{row.get('up', '')}{FOLDER}/{PAGE}#{encoded(tuple(asked.items()))}"

    return lead if found else None


def page(name: str, found: Sequence[Benchmark], back: str | None = None) -> str:
    """Return the page; ``back`` is the address of the report, where there is one."""
    listed = [
        {
            **{"name": each.name, "conditions": each.conditions, "models": each.models},
            **{"items": each.n_items, "files": list(map(data.file_of, each.models))},
        }
        for each in found
    ]
    contents = {"benchmarks": listed, "slice": data.ITEMS_A_SLICE, "served": back is None}
    return pieces.page(
        "explorer.html.jinja", name=name, back=back, contents=script_data(contents), script=SCRIPT
    )


def script() -> str:
    """Return the script of the page."""
    return pieces.script(SCRIPT)
