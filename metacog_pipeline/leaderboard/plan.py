"""What a build must make again: tables whose SQL, listing, upstream or files changed; of growing ones, some rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import pyarrow.parquet as pq

from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.declared import words_of
from metacog_pipeline.leaderboard.inputs import Input, changed, of_dataset
from metacog_pipeline.leaderboard.listing import Listing
from metacog_pipeline.leaderboard.models import GIVEN, OwnTable, Project, SqlModel, tables_behind
from metacog_pipeline.leaderboard.snapshot import Old, digest_of
from metacog_pipeline.leaderboard.staging import Dataset

ITEMS = "kept_items"
_SHARED_FOLDERS = frozenset({"models", "runs", "comparisons", "published", "curves", "judge_agreement"})
# Folder → the table of a benchmark's own that its files make.
_OWN = {"scored": "responses", "judgements": "judgements"}
# Of files that changed, at most this share is taken row by row: above it a table is made anew.
_MOST_CHANGED = 0.5


@dataclass(frozen=True, slots=True)
class Plan:
    """What is made again. ``rebuilt`` wholly; ``growing`` → the changed files whose rows are replaced."""

    rebuilt: frozenset[str]
    growing: Mapping[str, frozenset[str]]
    whole_views: frozenset[str]
    changed: frozenset[str]
    files: Mapping[str, Input]
    known: Mapping[str, Input]
    kept_rows: Mapping[str, int]
    gone: tuple[str, ...]

    def touches(self, name: str) -> bool:
        """Whether anything of the table is made again."""
        return name in self.rebuilt or name in self.growing

    def rebuilds(self, name: str) -> bool:
        """Whether the whole table is made again."""
        return name in self.rebuilt

    def reads(self, view: str, path: str) -> bool:
        """Whether a file belongs into a view: every one, or only those that changed."""
        return view in self.whole_views or path in self.changed

    def of_nobody(self, name: str) -> list[str]:
        """Return the files that a growing table gains though their path does not tell whose rows they hold.

        They are new, so that none of their rows is there yet.
        """
        return [
            path for path in self.growing.get(name, ()) if path in self.files and self.files[path].key is None
        ]

    def conditions(self, model: SqlModel) -> list[tuple[str, list[object]]]:
        """Return conditions, with their values, that hold for exactly the rows of a growing table that are replaced."""
        both = {**self.known, **self.files}
        keys = {key for path in self.growing.get(model.name, ()) if (key := both[path].key)}
        if model.header.grows == "by model":
            keys = {(benchmark, name, None) for benchmark, name, _ in keys}
        found: list[tuple[str, list[object]]] = []
        for benchmark, name, run in sorted(keys, key=str):
            named: list[tuple[str, object]] = [("model = ?", name)]
            if model.benchmark is None:
                named.insert(0, ("benchmark = ?", benchmark))
            if run is not None:
                named.append(("run = ?", run))
            found.append((" and ".join(each for each, _ in named), [value for _, value in named]))
        return found


def plan_of(
    project: Project,
    files: Mapping[str, Input],
    old: Old,
    listing: Listing,
    broken: Collection[str],
    excluded: Collection[tuple[str, str]],
) -> Plan:
    """Return what must be made again, given what the old file was made from.

    A growing table rests on what the study says of each model, row by row: where that alone differs, all files of the model
    count as changed.
    """
    anew = listing.changed_models(old.listing)
    new = changed(old.files, files) | {
        path for path, each in {**old.files, **files}.items() if each.key and each.key[1] in anew
    }
    rebuilt: set[str] = set()
    growing: dict[str, frozenset[str]] = {}
    sources = {model.name: _sources(project, model) for model in project.models}
    left_out = {view for view, _ in excluded}
    upstream = {model.name: set(tables_behind(model.reads, project.parts)) for model in project.models}
    for model in project.models:
        behind = upstream[model.name]
        fresh = {path for path in new for view in sources[model.name] if project.datasets[view].matches(path)}
        if (
            not old.reusable
            or old.digests.get(model.name) != digest_of(project, model)
            or (
                behind & set(GIVEN)
                and (listing.asked != old.listing.asked or (anew and not model.header.grows))
            )
            or behind & rebuilt
            or (behind & growing.keys() and model.header.grows != "by model")
            or model.name in broken
            or sources[model.name] & left_out
        ):
            rebuilt.add(model.name)
        elif grown := fresh.union(*(growing[name] for name in behind & growing.keys())):
            told = grown if model.header.grows == "by model" else grown & old.files.keys()
            if (
                model.header.grows
                and all((old.files.get(path) or files[path]).key for path in told)
                and _few(project, files, sources[model.name], fresh)
            ):
                growing[model.name] = frozenset(grown)
            else:
                rebuilt.add(model.name)
    while True:  # a view holds all files or the changed ones: whoever shares it with a table made wholly is made wholly
        whole = {view for name in rebuilt for view in sources[name]}
        promoted = {name for name in growing if sources[name] & whole or upstream[name] & rebuilt}
        if not promoted:
            break
        rebuilt |= promoted
        growing = {name: paths for name, paths in growing.items() if name not in promoted}
    gone = tuple(sorted(old.rows.keys() - {model.name for model in project.models}))
    return Plan(frozenset(rebuilt), growing, frozenset(whole), new, files, old.files, old.rows, gone)


def own_tables(
    home: Home, project: Project, files: Mapping[str, Input], asked: Collection[str]
) -> list[OwnTable]:
    """Return what files of benchmarks without SQL hold.

    Their responses make a table, and so does each folder of their estimates that is not shared.
    """
    served = {model.benchmark for model in (*project.models, *project.parts)}
    found: dict[tuple[str, str], OwnTable] = {}
    for path in files:
        parts = path.split("/")
        if len(parts) < 3 or parts[1] in served or parts[1] not in asked:
            continue
        if parts[0] in _OWN:
            table, pattern = _OWN[parts[0]], f"{parts[0]}/{parts[1]}/**/*.parquet"
        elif parts[0] == "estimates" and parts[2] not in _SHARED_FOLDERS and len(parts) > 3:
            table, pattern = parts[2], f"estimates/{parts[1]}/{parts[2]}/**/*.parquet"
        else:
            continue
        if (parts[1], table) not in found and not any(
            each.matches(path) for each in project.datasets.values()
        ):
            dataset = Dataset(f"{parts[1]}_{table}", (pattern,), {})
            names = pq.read_schema(home / path).names
            words = {name: said for name, said in words_of(parts[1], table).items() if said and name in names}
            found[parts[1], table] = OwnTable(parts[1], table, dataset, "model" in names, words)
    return list(found.values())


def _sources(project: Project, model: SqlModel) -> frozenset[str]:
    """Return the datasets behind a table, those behind the listing it reads left out."""
    found = {source for read in model.reads for source in project.sources(read)}
    return frozenset(found | ({"stg_items"} if ITEMS in model.reads else set()))


def _few(
    project: Project, files: Mapping[str, Input], views: Collection[str], fresh: Collection[str]
) -> bool:
    """Whether so few files changed that their rows alone are made again."""
    every = sum(len(of_dataset(project.datasets[view], files)) for view in views)
    return len(fresh) <= max(1, _MOST_CHANGED * every)
