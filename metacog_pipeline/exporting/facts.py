"""All that leaves a study, read in one place: every format writes what is here and reads nothing else."""

# Texts are without keys, credentials and paths of the user. Items, and prompts that hold them, leave only where the
# licence of every source they are made from allows copies; otherwise each leaves as its id and its hash.

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl
import polars.selectors as cs

from metacog_pipeline.benchmark import item_files
from metacog_pipeline.benchmark.bound import Bound, enabled
from metacog_pipeline.benchmark.contract import Source
from metacog_pipeline.errors import StudyError
from metacog_pipeline.leaderboard.output import Rows, to_csv
from metacog_pipeline.leaderboard.read import query_table, read_table
from metacog_pipeline.study import Settings, Study
from metacog_pipeline.transcripts.folder import JUDGEMENTS

# Licences that allow copies to be passed on, as publishers write them.
_OPEN = re.compile(
    r"(?i)\b(?:CC[- ]?0|CC[- ]BY(?:[- ]SA)?(?:[- ]\d\.\d)?(?![- ]N)|public domain|MIT|Apache|BSD|ODC-By|Unlicense)\b"
)
_SECRET_NAME = re.compile(r"(?i)KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|DSN")
_ADDRESS = r"(?i)\b([a-z][a-z0-9+.-]*://)[^/\s:@\"']+(?::[^/\s@\"']*)?@"
_KEY = r"\b(?:sk|gsk|hf|r8|xai|pk)[-_][A-Za-z0-9_-]{8,}|AIza[\w-]{10,}|(?i:bearer)\s+[\w.~+/=-]{8,}"
_FOLDER = r"(?:/(?:home|Users|root)|[A-Za-z]:\\+Users)[/\\][^\s\"',;:)]*"
# Texts of our own or of a provider, where a key can only be a key; in replies and prompts it may be an example.
_MESSAGES = {"error_message", "error_code", "model_id", "model_reported", "message", "reason", "finish_detail"}  # fmt: skip


class Facts:
    """The results of a study, all of one board, without what must not leave. StoreError where there is no board yet."""

    def __init__(self, study: Study) -> None:
        self.study, self.home, there = study, study.home, item_files.items_path
        self.benchmarks = [each for each in enabled(study) if there(self.home, each.name).exists()]
        self.closed = [each.name for each in self.benchmarks if not may_copy(each)]
        sql = "select id, version from detail.snapshot"
        [[self.snapshot, self.version]] = read_table(self.home, sql).rows
        secret = (name for name in os.environ if name in study.variables or _SECRET_NAME.search(name))
        values = (os.environ[name].strip() for name in secret)
        places = map(str, (study.home, study.path.parent, Path.home(), Path.cwd()))
        # Shorter values are words, which stand in every text.
        known = {each: "[removed]" for each in values if len(each) >= 8}
        known |= {each: "[path]" for each in places if each.count("/") > 1}
        # as JSON holds them
        known |= {json.dumps(each)[1:-1]: instead for each, instead in known.items()}
        # The longest first: a folder in another is within the longer path.
        self._known = dict(sorted(known.items(), key=lambda pair: -len(pair[0])))

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return every table of the leaderboard that has rows; names in alphabetical order."""
        sql = "select table_name from duckdb_tables() where database_name = 'leaderboard'"
        # These say when and on which disk a board was built: the same study is to give the same bytes.
        names = {str(name) for (name,) in read_table(self.home, sql).rows} - {"inputs", "snapshot"}
        return {name: frame for name in sorted(names) if (frame := self.table(f"from {name}")).height}

    def table(self, sql: str) -> pl.DataFrame:
        """Return what a query of the leaderboard gives, as it may leave, in order of its rows."""
        return self.leaving(pl.DataFrame(pl.from_arrow(query_table(self.home, f"from ({sql}) order by all"))))

    def text(self, text: str, *, message: bool = True) -> str:
        """Return a text as it may leave; a ``message`` is no prompt and no reply."""
        # Half a pair of surrogates is in no table.
        whole = text.encode("utf-8", "replace").decode("utf-8")
        return str(self.leaving(pl.DataFrame({"message" if message else "text": [whole]})).item())

    def leaving(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return a table without secrets and paths of the user, and without texts of items that may not be passed on."""
        if {"benchmark", "item_id"} <= set(frame.columns):
            closed = pl.col("benchmark").str.strip_suffix(JUDGEMENTS).is_in(self.closed)
            texts = cs.by_name("question", "key", "facts", "request_json", require_all=False)
            frame = frame.with_columns(pl.when(~closed).then(texts))
        # A map is searched as JSON.
        frame = frame.with_columns(cs.by_dtype(pl.Map).map_elements(json.dumps, return_dtype=pl.String))
        every, messages = cs.string(), cs.string() & cs.by_name(*_MESSAGES, require_all=False)
        known = every.str.replace_many(self._known, leftmost=True).str.replace_all(_ADDRESS, "$1")
        # An id of a model may look like a key.
        keys = (messages - cs.starts_with("model_")).str.replace_all(_KEY, "[removed]")
        frame = frame.with_columns(known).with_columns(keys)
        return frame.with_columns(messages.str.replace_all(_FOLDER, "[path]"))


def refuse_existing(target: Path) -> None:
    """Refuse a target that is there."""
    if os.path.lexists(target):
        raise StudyError(f"{target}: is there already; choose a new place: nothing is overwritten")


def csv_of(frame: pl.DataFrame) -> bytes:
    """Return a table as CSV that spreadsheets cannot run."""
    return to_csv(Rows(tuple(frame.columns), tuple(frame.iter_rows()))).encode("utf-8")


def each_text(value: Any, change: Callable[[str], Any]) -> Any:
    """Return what JSON or TOML holds, each of its texts changed."""
    if isinstance(value, Mapping):
        return {key: each_text(each, change) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [each_text(each, change) for each in value]
    return change(value) if isinstance(value, str) else value


# --- licences, and files that a study names ---------------------------------------------------------------------------
def sources(benchmark: Bound) -> list[Source]:
    """Return the published files that the items of a study are made from."""
    return [each for each in benchmark.sources if each.name in benchmark.needed_sources()]


def may_copy(benchmark: Bound) -> bool:
    """Whether the items may be passed on: shipped, generated and own ones, and those of sources with an open licence."""
    # A folder that the study names holds copies of somebody else's data.
    copies = any(benchmark.study.beside(each).is_dir() for each in named_paths(benchmark.settings))
    return not copies and all(_OPEN.search(each.licence) for each in sources(benchmark))


def named_paths(*tables: Settings) -> list[Path]:
    """Return the files and folders that tables of a study file name, as they are written there."""
    values = (each if isinstance(each, tuple) else (each,) for own in tables for each in vars(own).values())
    # Other words are what ships with a benchmark, as "sample".
    return [each for each in chain(*values) if isinstance(each, Path) and {"/", ".", "~"} & set(str(each))]
