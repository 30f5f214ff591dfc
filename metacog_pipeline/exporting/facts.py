"""All that leaves a study, read in one place: every format writes what is here and reads nothing else."""

# Texts are without secrets. Items, and prompts that hold them, leave only where the licence of every source they are
# made from allows copies; otherwise each leaves as its id and its digest.

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from metacog_pipeline import __version__
from metacog_pipeline.asking import tasks
from metacog_pipeline.benchmark import item_files
from metacog_pipeline.benchmark.bound import Bound, enabled
from metacog_pipeline.benchmark.contract import Source
from metacog_pipeline.benchmark.display import board_condition
from metacog_pipeline.errors import StoreError
from metacog_pipeline.files import sha256_hex
from metacog_pipeline.leaderboard.output import Rows, to_csv
from metacog_pipeline.leaderboard.read import query_table
from metacog_pipeline.scoring import files as scored_files
from metacog_pipeline.scoring import printed
from metacog_pipeline.study import Study

# Licences that allow copies to be passed on, as publishers write them.
_OPEN = re.compile(
    r"\b(?:CC[- ]?0|CC[- ]BY(?:[- ]SA)?(?:[- ]\d\.\d)?(?![- ]N)|public domain|MIT|Apache|BSD|ODC-By|Unlicense)\b",
    re.IGNORECASE,
)
# They say when and on which disk a board was built, not what is on it: the same study is to give the same bytes.
_OF_THE_BUILD = ("inputs", "snapshot")
_TEXTS_OF_ITEMS = ("question", "key", "facts")
_CALLS = ["model", "condition", "item_id", "run"]  # what the calls of one sample have in common

REMOVED, PLACE = "[removed]", "[path]"
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|DSN", re.IGNORECASE)
# Characters of a value that is taken for a secret: shorter ones are words, which stand in every text.
_SHORTEST = 8
_ADDRESS = (r"(?i)\b([a-z][a-z0-9+.-]*://)[^/\s:@\"']+(?::[^/\s@\"']*)?@", r"\1")
_KEY = r"\b(?:sk|gsk|hf|r8|xai|pk)[-_][A-Za-z0-9_-]{8,}|AIza[\w-]{10,}|(?i:bearer)\s+[\w.~+/=-]{8,}"
_FOLDER = r"(?:/(?:home|Users|root)|[A-Za-z]:\\Users)[/\\][^\s\"',;:)]*"
# Texts of our own or of a provider, where a key can only be a key; in replies and prompts it may be an example.
_MESSAGES = {
    "error_message", "error_code", "model_id", "model_reported", "message", "reason", "finish_detail",
}  # fmt: skip


class Cleaner:
    """Takes secrets of the environment, credentials in addresses and paths of the user out of every text that leaves."""

    def __init__(self, study: Study) -> None:
        named = [
            value.strip()
            for name, value in os.environ.items()
            if name in study.variables or _SECRET_NAME.search(name)
        ]
        known = {value: REMOVED for value in named if len(value) >= _SHORTEST}
        places = map(str, (study.home, study.path.parent, Path.home(), Path.cwd()))
        known |= {each: PLACE for each in places if each.count("/") > 1}
        # The longest first: a folder in another is within the longer path.
        self._known = sorted(known.items(), key=lambda pair: -len(pair[0]))

    def text(self, text: str, *, message: bool = True) -> str:
        """Return a text without what must not leave; a ``message`` is no prompt and no reply."""
        for found, instead in self._known:
            text = text.replace(found, instead)
        for pattern, instead in [_ADDRESS, *([(_KEY, REMOVED), (_FOLDER, PLACE)] if message else [])]:
            text = re.sub(pattern, instead, text)
        return text

    def frame(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return a table without what must not leave."""
        for name in (name for name, kind in frame.schema.items() if kind == pl.String):
            # Most texts of a column are repeated: each is searched once.
            texts, message = frame[name].drop_nulls().unique(), name in _MESSAGES
            changed = {each: clean for each in texts if (clean := self.text(each, message=message)) != each}
            frame = frame.with_columns(pl.col(name).replace(changed)) if changed else frame
        return frame

    def value(self, value: Any) -> Any:
        """Return what JSON or TOML holds, each of its texts without what must not leave."""
        if isinstance(value, dict):
            return {self.text(str(key), message=False): self.value(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(each) for each in value]
        return self.text(value) if isinstance(value, str) else value


class Sample(NamedTuple):
    """One model's answer to one item under one condition: the unit that other programs call a sample."""

    name: str  # of the model, as provider/model
    calls: list[dict[str, Any]]  # its transcripts in order
    messages: list[tuple[str, str]]  # role and text of the whole talk: prompts as they left, replies
    key: str
    read: dict[str, Any]  # its row of the table ``answers``; empty where it was not scored
    tokens: dict[str, int]  # of all calls; what is not known counts 0

    @classmethod
    def of(cls, calls: list[dict[str, Any]], item: Mapping[str, Any], read: dict[str, Any]) -> Sample:
        """Return the sample of the calls about an item."""
        first, talk = calls[0], list[tuple[str, str]]()
        for call in calls:
            asked = json.loads(call["request_json"]).get("messages")
            asked = asked or [["user", item.get("question") or first["item_id"]]]
            # A later call repeats the talk before it: only its last turn is new.
            talk += [(role, text) for role, text in (asked[-1:] if talk else asked)]
            talk.append(("assistant", call["text"]))
        name = f"{first['provider']}/{(first['model_id'] or first['model']).split('/')[-1]}"
        tokens = {each: sum(call[each] or 0 for call in calls) for each in ("input_tokens", "output_tokens")}
        tokens["total_tokens"] = sum(tokens.values())
        return cls(name, calls, talk, str(item.get("key") or ""), read, tokens)

    @property
    def latency_s(self) -> float:
        """The seconds its calls took."""
        return sum(float(call["latency_s"]) for call in self.calls)


class Facts:
    """The results of a study, all of one board. StoreError where it has none yet."""

    def __init__(self, study: Study) -> None:
        if not study.home.leaderboard.exists():
            raise StoreError(f"{study.home}: has no board yet; run it first: metacog run {study.path.name}")
        self.study, self.home, self.clean = study, study.home, Cleaner(study)
        #: Those whose items are built, in the order of the study file.
        self.benchmarks = [
            each for each in enabled(study) if item_files.items_path(self.home, each.name).exists()
        ]
        self.closed = [each.name for each in self.benchmarks if not may_copy(each)]

    @cached_property
    def about(self) -> dict[str, Any]:
        """What every export says of itself: program, study, snapshot, benchmarks with their sources."""
        [shot] = self._rows("select id, version from detail.snapshot")
        return {
            "made_by": "metacog_pipeline", "version": __version__, "board_version": shot["version"],
            "snapshot": shot["id"], "study": self.study.study.name, "seed": self.study.study.seed,
            "benchmarks": {each.name: self._about(each) for each in self.benchmarks},
        }  # fmt: skip

    def _about(self, benchmark: Bound) -> dict[str, Any]:
        paper = benchmark.paper
        return {
            "title": benchmark.title,
            "paper": {name: getattr(paper, name) for name in ("title", "authors", "year", "url")},
            "versions": {stage.value: version for stage, version in benchmark.versions.items()},
            "sources": [
                {
                    "name": each.name,
                    "urls": [*each.urls],
                    "licence": each.licence,
                    "sha256": each.digest(self.home),
                }
                for each in sources(benchmark)
            ],
            "published": printed.paths(benchmark)[0].exists(),
            "items": "by id and digest" if benchmark.name in self.closed else "copied",
            "items_sha256": item_files.items_digest(self.home, benchmark.name, benchmark.Item),
        }

    # --- tables -------------------------------------------------------------------------------------------------------
    def tables(self) -> list[tuple[str, pl.DataFrame]]:
        """Return every table of the leaderboard that has rows, in order of its rows; names in alphabetical order."""
        sql = "select table_name from duckdb_tables() where database_name = 'leaderboard' order by all"
        names = [row["table_name"] for row in self._rows(sql)]
        found = [(name, self.table(name)) for name in names if name not in _OF_THE_BUILD]
        return [(name, frame) for name, frame in found if frame.height]

    def table(self, name: str) -> pl.DataFrame:
        """Return one table of the leaderboard; without the texts of items that may not be passed on."""
        frame = pl.DataFrame(pl.from_arrow(query_table(self.home, f"from {name} order by all")))
        if self.closed and {"benchmark", "item_id"} <= set(frame.columns):
            allowed = ~pl.col("benchmark").is_in(self.closed)
            texts = [each for each in _TEXTS_OF_ITEMS if each in frame.columns]
            frame = frame.with_columns(pl.when(allowed).then(pl.col(each)).alias(each) for each in texts)
        return self.clean.frame(frame)

    def described(self) -> dict[str, dict[str, str]]:
        """Return table → column → what it means."""
        words = "map_from_entries(list((column_name, comment))) as words"
        told = "comment is not null and database_name = 'leaderboard'"
        found = self._rows(f"select table_name, {words} from duckdb_columns() where {told} group by all")
        return {row["table_name"]: dict(row["words"]) for row in found}

    def estimates(self, benchmark: str, model: str) -> list[dict[str, Any]]:
        """Return every estimate of a model with a value, its measure, and its ``place``: a text no other of them has."""
        return self._rows(
            "select concat_ws('/', nullif(e.dataset, ''), nullif(e.task, ''), nullif(e.condition, ''), "
            "nullif(e.scoring, ''), e.measure) as place, e.condition, e.measure, e.estimate, e.low, e.high, e.n, "
            "e.method, m.label, m.definition, m.min, m.max, m.higher_is_better "
            "from estimates e left join measures m using (benchmark, measure) "
            f"where benchmark = '{benchmark}' and model = '{model}' and e.estimate is not null "
            "and isfinite(e.estimate) and e.source <> 'published' order by place"
        )

    def _rows(self, sql: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = query_table(self.home, sql).to_pylist()
        return found

    def responses(self, benchmark: Bound) -> pl.DataFrame:
        """Return the scored responses of a benchmark: a row per model, run, condition and item."""
        found = scored_files.scored_frames(benchmark)
        return self.clean.frame(pl.concat(found, how="diagonal_relaxed")) if found else pl.DataFrame()

    def items(self, benchmark: Bound) -> pl.DataFrame:
        """Return the items of a benchmark; id and digest alone where they may not be passed on."""
        path = item_files.items_path(self.home, benchmark.name)
        frame = pl.read_parquet(path, glob=False, hive_partitioning=False)
        asked = frame.filter(pl.col("item_id").is_in([each.item_id for each in benchmark.items]))
        if benchmark.name not in self.closed:
            return self.clean.frame(asked)
        return asked.select(each for each in ("item_id", "dataset", item_files.HASH) if each in asked.columns)

    def answers(self, benchmark: Bound) -> pl.DataFrame:
        """Return every call whose answer counts, all columns of a transcript."""
        asked = [each for each in tasks.partitions(benchmark) if each.manifest()]
        found = [scored_files.current_transcripts(benchmark, each) for each in asked]
        order = ("model", "run", "condition", "item_id", "step", "started_at")
        return self.leaving(benchmark, pl.concat(found)).sort(order) if found else pl.DataFrame()

    def leaving(self, benchmark: Bound, transcripts: pl.DataFrame) -> pl.DataFrame:
        """Return transcripts without secrets, and with digests for prompts that hold closed items."""
        if benchmark.name in self.closed:
            digests = [json.dumps({"sha256": sha256_hex(each)}) for each in transcripts["request_json"]]
            transcripts = transcripts.with_columns(request_json=pl.Series(digests, dtype=pl.String))
        return self.clean.frame(transcripts)

    def samples(self, *names: str) -> Iterator[tuple[Bound, list[Sample]]]:
        """Yield the samples of each benchmark that agree in the columns ``names`` of their calls, in that order."""
        keys = ("benchmark", "model", "run", "item_id", "condition")
        items = self.table("items").rows_by_key(("benchmark", "item_id"), named=True, unique=True)
        scored = self.table("answers").rows_by_key(keys, named=True, unique=True)
        for benchmark in self.benchmarks:
            found, answers = [], self.answers(benchmark)
            calls = answers.sort([*_CALLS, "started_at", "step"]).to_dicts() if answers.height else []
            for (model, condition, item_id, run), group in groupby(calls, itemgetter(*_CALLS)):
                item = items.get((benchmark.name, item_id), {})
                place = (benchmark.name, model, run, item_id, board_condition(item.get("task"), condition))
                found.append(Sample.of([*group], item, scored.get(place, {})))
            for _, own in groupby(found, lambda each: [each.calls[0][name] for name in names]):
                yield benchmark, [*own]


def csv_of(frame: pl.DataFrame) -> bytes:
    """Return a table as CSV that spreadsheets cannot run."""
    return to_csv(Rows(tuple(frame.columns), tuple(frame.iter_rows()))).encode("utf-8")


# --- licences ---------------------------------------------------------------------------------------------------------
def sources(benchmark: Bound) -> list[Source]:
    """Return the published files that the items of a study are made from."""
    needed = benchmark.needed_sources()
    return [each for each in benchmark.sources if each.name in needed]


def may_copy(benchmark: Bound) -> bool:
    """Whether the items may be passed on: shipped, generated and own ones, and those of sources with an open licence."""
    named = named_paths(benchmark.settings.model_dump(mode="json"), benchmark.context.beside)
    # A folder that the study names holds copies of somebody else's data.
    return not any(path.is_dir() for path in named) and all(
        _OPEN.search(each.licence) for each in sources(benchmark)
    )


def named_paths(value: Any, beside: Any) -> Iterator[Path]:
    """Yield the files and folders that values of a study file name."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for each in value:
            yield from named_paths(each, beside)
    elif isinstance(value, str) and 0 < len(value) < 1000 and {"/", "."} & set(value) and value.isprintable():
        with contextlib.suppress(OSError):
            if (path := beside(Path(value))).exists():
                yield path
