"""All that leaves a study, read in one place: every format writes what is here and reads nothing else."""

# Texts are without keys, credentials and paths of the user. Items, and prompts that hold them, leave only where the
# licence of every source they are made from allows copies; otherwise each leaves as its id and its hash.

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
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
from metacog_pipeline.study import Study
from metacog_pipeline.transcripts.folder import JUDGEMENTS

# They say when and on which disk a board was built, not what is on it: the same study is to give the same bytes.
_OF_THE_BUILD = ("inputs", "snapshot")
_TEXTS_OF_ITEMS = ("question", "key", "facts", "request_json")
# The body of a reply is packed: it cannot be searched for secrets.
CALLS = "select * exclude (raw_zstd) from transcripts semi join progress using (benchmark, model, run) where not superseded"
_SAMPLES = f"""
select calls.*, question, key, correct, response, confidence
from ({CALLS}) as calls
inner join items using (benchmark, item_id)
left join answers as own on own.condition = concat_ws(' ', task, calls.condition)
    and (own.benchmark, own.model, own.run, own.item_id) = (calls.benchmark, calls.model, calls.run, calls.item_id)
"""
# what the calls of one sample have in common
_PLACE = ("benchmark", "model", "condition", "item_id", "run")
# an answer to an item under a condition: the columns of its last call, and more
Sample = dict[str, Any]
# Licences that allow copies to be passed on, as publishers write them.
_OPEN = re.compile(
    r"(?i)\b(?:CC[- ]?0|CC[- ]BY(?:[- ]SA)?(?:[- ]\d\.\d)?(?![- ]N)|public domain|MIT|Apache|BSD|ODC-By|Unlicense)\b"
)
_SECRET_NAME = re.compile(r"(?i)KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|DSN")
# characters of a secret: shorter values are words, which stand in every text
_SHORTEST = 8
_ADDRESS = r"(?i)\b([a-z][a-z0-9+.-]*://)[^/\s:@\"']+(?::[^/\s@\"']*)?@"
_KEY = r"\b(?:sk|gsk|hf|r8|xai|pk)[-_][A-Za-z0-9_-]{8,}|AIza[\w-]{10,}|(?i:bearer)\s+[\w.~+/=-]{8,}"
_FOLDER = r"(?:/(?:home|Users|root)|[A-Za-z]:\\+Users)[/\\][^\s\"',;:)]*"
# Texts of our own or of a provider, where a key can only be a key; in replies and prompts it may be an example.
_MESSAGES = {"error_message", "error_code", "model_id", "model_reported", "message", "reason", "finish_detail"}  # fmt: skip


class Facts:
    """The results of a study, all of one board. StoreError where it has none yet."""

    def __init__(self, study: Study) -> None:
        self.study, self.home, self.clean = study, study.home, Cleaner(study)
        there = item_files.items_path
        self.benchmarks = [each for each in enabled(study) if there(self.home, each.name).exists()]
        self.closed = [each.name for each in self.benchmarks if not may_copy(each)]
        [[self.snapshot, self.version]] = read_table(
            self.home, "select id, version from detail.snapshot"
        ).rows

    def frame(self, sql: str) -> pl.DataFrame:
        """Return what a query of the leaderboard gives, as it may leave, in order of its rows."""
        return self.leaving(pl.DataFrame(pl.from_arrow(query_table(self.home, f"from ({sql}) order by all"))))

    def leaving(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return a table without secrets, and without the texts of items that may not be passed on."""
        if {"benchmark", "item_id"} <= set(frame.columns):
            closed = pl.col("benchmark").str.strip_suffix(JUDGEMENTS).is_in(self.closed)
            texts = pl.col([each for each in _TEXTS_OF_ITEMS if each in frame.columns])
            frame = frame.with_columns(pl.when(~closed).then(texts))
        return self.clean.frame(frame)

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return every table of the leaderboard that has rows; names in alphabetical order."""
        sql = "select table_name from duckdb_tables() where database_name = 'leaderboard' order by all"
        names = (str(name) for (name,) in read_table(self.home, sql).rows if name not in _OF_THE_BUILD)
        found = {name: self.frame(f"from {name}") for name in names}
        return {name: frame for name, frame in found.items() if frame.height}

    def scores(self, benchmark: str, model: str) -> list[dict[str, Any]]:
        """Return what the board says of a model, each value with its ``place``: a text no other of them has."""
        measured = "source <> 'published' and isfinite(estimate)"
        sql = f"select *, condition || '/' || measure as place from leaderboard where {measured}"
        return self.frame(sql).filter(benchmark=benchmark, model=model).to_dicts()

    def samples(self, *names: str) -> Iterator[tuple[Any, list[Sample]]]:
        """Yield each benchmark and its values of ``names``, as its model, with the samples that have them."""
        calls = self.frame(_SAMPLES).sort(*_PLACE, "started_at", "step").iter_rows(named=True)
        found = (_sample(own) for _, own in groupby(calls, itemgetter(*_PLACE)))
        return ((key, [*own]) for key, own in groupby(found, itemgetter("benchmark", *names)))


def _sample(found: Iterator[dict[str, Any]]) -> Sample:
    # A failed call was asked again: the last of each step counts.
    calls = list({each["step"]: each for each in found}.values())
    last, asked, talk = calls[-1], list[dict[str, str]](), list[dict[str, str]]()
    for call in calls:
        turns = json.loads(call["request_json"] or "{}").get("messages")
        turns = turns or [["user", call["question"] or call["item_id"]]]
        # A later call repeats the talk before it: only its last turn is new.
        talk += [{"role": role, "content": text} for role, text in (turns[-1:] if talk else turns)]
        asked = asked or [*talk]
        talk.append({"role": "assistant", "content": call["text"]})
    tokens = {name: sum(call[name] or 0 for call in calls) for name in ("input_tokens", "output_tokens")}
    return last | {
        "asked": asked, "messages": talk, "single": len(calls) == 1, "key": last["key"] or "",
        "name": f"{last['provider']}/{(last['model_id'] or last['model']).split('/')[-1]}",
        "tokens": {**tokens, "total_tokens": sum(tokens.values())},
        "error": (last["error_message"] or "failed") if last["status"] == "failed" else None,
    }  # fmt: skip


def refuse_existing(target: Path) -> None:
    """Refuse a target that is there."""
    if os.path.lexists(target):
        why = "is there already; choose a new place, or move it away: nothing is overwritten"
        raise StudyError(f"{target}: {why}")


def csv_of(frame: pl.DataFrame) -> bytes:
    """Return a table as CSV that spreadsheets cannot run."""
    return to_csv(Rows(tuple(frame.columns), tuple(frame.iter_rows()))).encode("utf-8")


# --- what must not leave ----------------------------------------------------------------------------------------------
class Cleaner:
    """Takes secrets of the environment, credentials in addresses and paths of the user out of every text that leaves."""

    def __init__(self, study: Study) -> None:
        secret = (name for name in os.environ if name in study.variables or _SECRET_NAME.search(name))
        values = (os.environ[name].strip() for name in secret)
        places = map(str, (study.home, study.path.parent, Path.home(), Path.cwd()))
        known = {each: "[removed]" for each in values if len(each) >= _SHORTEST}
        known |= {each: "[path]" for each in places if each.count("/") > 1}
        # as JSON holds them
        known |= {json.dumps(each)[1:-1]: instead for each, instead in known.items()}
        # The longest first: a folder in another is within the longer path.
        self._known = dict(sorted(known.items(), key=lambda pair: -len(pair[0])))

    def text(self, text: str, *, message: bool = True) -> str:
        """Return a text without what must not leave; a ``message`` is no prompt and no reply."""
        # Half a pair of surrogates is in no table.
        whole = text.encode("utf-8", "replace").decode("utf-8")
        return str(self.frame(pl.DataFrame({"message" if message else "text": [whole]})).item())

    def frame(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return a table without what must not leave."""
        texts, messages = cs.string(), cs.string() & cs.by_name(*_MESSAGES, require_all=False)
        known = texts.str.replace_many(self._known, leftmost=True).str.replace_all(_ADDRESS, "$1")
        # An id of a model may look like a key.
        keys = (messages - cs.starts_with("model_")).str.replace_all(_KEY, "[removed]")
        frame = frame.with_columns(known).with_columns(keys)
        return frame.with_columns(messages.str.replace_all(_FOLDER, "[path]"))


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
    needed = benchmark.needed_sources()
    return [each for each in benchmark.sources if each.name in needed]


def may_copy(benchmark: Bound) -> bool:
    """Whether the items may be passed on: shipped, generated and own ones, and those of sources with an open licence."""
    named = named_paths(benchmark.settings.model_dump(mode="json"), benchmark.study.beside)
    # A folder that the study names holds copies of somebody else's data.
    copies = any(path.is_dir() for path in named.values())
    return not copies and all(_OPEN.search(each.licence) for each in sources(benchmark))


def named_paths(value: Any, beside: Callable[[Path], Path]) -> dict[str, Path]:
    """Return the files and folders that texts of a study file name, by text."""
    texts, found = list[str](), dict[str, Path]()
    each_text(value, texts.append)
    for text in (text for text in texts if {"/", "."} & set(text)):
        # a text may be too long for a name, hold a NUL, or begin with the ~ of nobody
        with contextlib.suppress(OSError, ValueError, RuntimeError):
            if (path := beside(Path(text))).exists():
                found[text] = path
    return found
