"""The item, the sources of its texts, and the steps that make the items of the three tasks.

=====  =========================================  ==============  ======================  =============
task   question                                   0 (S1)          1 (S2)                  source
=====  =========================================  ==============  ======================  =============
``A``  sentiment of a sentence of a film review   negative        positive                ``sst2``
``B``  origin of a sentence                       oral speech     a written source        ``test4plus``
``C``  was one "the" deleted?                     unchanged       one "the" deleted       ``test4plus``
=====  =========================================  ==============  ======================  =============

Rows are drawn uniformly without replacement; nothing balances the labels, as in the paper. Two things give task C away to a
reader who knows them, and are part of the published construction: a space before a comma or two spaces in a row survive in
unchanged texts only, and a deleted "The" at the start leaves a sentence that begins with a small letter.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, cast

import polars as pl

from metacog_pipeline.benchmark import contract, source_files
from metacog_pipeline.benchmark.contract import Benchmark, Inputs, Made, Step
from metacog_pipeline.benchmark.item import seeded_sample
from metacog_pipeline.benchmark.source_files import PinnedFile
from metacog_pipeline.benchmarks.signaldetection.settings import Task
from metacog_pipeline.errors import SourceError
from metacog_pipeline.files import sha256_hex, shipped
from metacog_pipeline.sources import read_bytes

Bound = Benchmark[Any, Any, Any]
TASKS: tuple[Task, ...] = ("A", "B", "C")
S1, S2 = 0, 1
REVIEWS, SENTENCES = "sst2", "test4plus"
SOURCE_OF: Mapping[Task, str] = {"A": REVIEWS, "B": SENTENCES, "C": SENTENCES}
P_DELETE = 0.5  # as in the paper
MAX_BYTES = 1024**3
_PREFIXES = {"published": "sdt", "sample": "sample-sdt"}
_SAMPLE_FILES = {REVIEWS: "reviews.tsv", SENTENCES: "sentences.tsv"}
# The word in any case, without an ASCII letter next to it. No IGNORECASE: with it the ranges would take in the long s, the
# Kelvin sign and the dotless i.
_THE = re.compile(r"(?<![A-Za-z])[Tt][Hh][Ee](?![A-Za-z])")


class Item(contract.Item):
    """One text and its true label; ``position`` is its 0-based place among the items of the task."""

    task: Task
    stimulus: Literal[0, 1]  # S1, S2
    text: str
    source: str
    source_row: int  # 0-based

    def asked_and_scored_by(self) -> Any:
        return [self.task, self.text, self.stimulus]


# --- sources ------------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Texts:
    """The rows of a source in file order: labels 0 or 1, and sentences exactly as they are there."""

    name: str
    labels: Sequence[int]
    sentences: Sequence[str]

    def __len__(self) -> int:
        return len(self.labels)


def read_table(path: Path, name: str) -> Texts:
    """Read a UTF-8 file of lines ``label<TAB>sentence``; SourceError with file and line for what is none."""
    labels, sentences = [], []
    for number, raw in enumerate(io.BytesIO(read_bytes(path, MAX_BYTES)), start=1):
        try:
            line = raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise SourceError(
                f"{path}:{number}: not UTF-8 ({error.reason}); convert a copy to UTF-8 and fetch it with --from DIR"
            ) from None
        label, tab, sentence = line.partition("\t")
        if tab and label.strip() in ("0", "1") and sentence.strip():
            labels.append(int(label))
            sentences.append(sentence)
        elif line:
            raise SourceError(
                f"{path}:{number}: expected 0 or 1, a tab and a sentence, found {line[:60]!r}; replace or correct the file"
            )
    if missing := {0, 1} - set(labels):
        raise SourceError(f"{path}: no row has label {min(missing)}; replace the file")
    return Texts(name, labels, sentences)


def read_sst2(path: Path, name: str) -> Texts:
    """Read the Parquet file of SST-2, whose digest was checked before."""
    table = pl.read_parquet(io.BytesIO(read_bytes(path)), columns=["label", "sentence"])
    return Texts(name, table["label"].to_list(), table["sentence"].to_list())


_READ = {REVIEWS: read_sst2, SENTENCES: read_table}
SOURCES: Mapping[str, PinnedFile] = {
    REVIEWS: PinnedFile(
        "signaldetection", REVIEWS,
        "https://raw.githubusercontent.com/sshrichard/metacognition-of-AI/8746b30bb0383b9a97cd4bf6cf899dc68e3a90aa"
        "/train-00000-of-00001.parquet",
        "SST-2 (Socher et al. 2013) is given for research; the copy states no licence", "sst2.parquet",
        "c7921283b75a42e685f50edecb96798607ea0fcbfd0739ee8975f22c12d55f09",
        ("train-00000-of-00001.parquet", "sst2.parquet"), lambda path: len(read_sst2(path, REVIEWS)),
    ),
    SENTENCES: PinnedFile(
        "signaldetection", SENTENCES, "https://zenodo.org/records/7694423/files/Test4Plus_Raw.txt?download=1",
        "as stated in the Zenodo record 7694423", "test4plus.tsv",
        # no digest is published: the first file fetched pins it
        None,
        ("Test4Plus_Raw.txt", "test4plus.tsv"), lambda path: len(read_table(path, SENTENCES)), MAX_BYTES,
    ),
}  # fmt: skip
fetch = partial(source_files.fetch, SOURCES)


# --- construction -------------------------------------------------------------------------------------------------------
def build(
    texts: Mapping[str, Texts], trials: Mapping[Task, int], seed: int = 0, dataset: str = "published"
) -> list[Item]:
    """Return the items of the tasks that ``trials`` names, in the order A, B, C; a source that has fewer rows gives all."""
    return [
        item
        for task in TASKS
        if task in trials
        for item in _of_task(task, texts[SOURCE_OF[task]], trials[task], seed, dataset)
    ]


def _of_task(task: Task, source: Texts, trials: int, seed: int, dataset: str) -> Iterator[Item]:
    # The id names task and row alone: a text keeps it whatever the seed and the number of trials.
    prefix = _PREFIXES.get(dataset, dataset)
    rows = (row for row, text in enumerate(source.sentences) if task != "C" or can_be_asked(text))
    by_name = {f"{prefix}-{task}-{row:06d}": row for row in rows}
    for position, name in enumerate(seeded_sample(by_name, trials, seed, f"signaldetection-{task}")):
        row = by_name[name]
        label, text = source.labels[row], source.sentences[row]
        if task == "C":
            label, text = int(_uniform(seed, "delete", name) < P_DELETE), text.strip()
            if label:
                places = matches(text)
                text = delete(text, places[int(_uniform(seed, "place", name) * len(places))])
        yield Item(
            item_id=name, dataset=dataset, position=position, task=task, stimulus=cast(Literal[0, 1], label),
            text=text, source=source.name, source_row=row,
        )  # fmt: skip


def _uniform(seed: int, purpose: str, name: str) -> float:
    # No library's random numbers: whoever implements the task again deletes the same words.
    digest = sha256_hex(f"{seed}:signaldetection-{purpose}:{name}")
    return int(digest[:13], 16) / float(16**13)


def matches(sentence: str) -> list[tuple[int, int]]:
    """Return the places (start, end) of the word "the" in ``sentence``, in order."""
    return [match.span() for match in _THE.finditer(sentence)]


def can_be_asked(sentence: str) -> bool:
    """Whether the word is in ``sentence`` and something would be left without it."""
    return _THE.search(sentence) is not None and len(sentence.strip()) > len("the")


def delete(sentence: str, place: tuple[int, int]) -> str:
    """Return ``sentence`` without the characters at ``place``, white space tidied; the next word keeps its case."""
    start, end = place
    rest = re.sub(r"\s{2,}", " ", sentence[:start] + sentence[end:])
    return re.sub(r"\s+([,;:.!?)])", r"\1", rest).strip()


# --- steps --------------------------------------------------------------------------------------------------------------
def wanted(tasks: Sequence[Task]) -> tuple[str, ...]:
    """Return the names of the sources that ``tasks`` are built from."""
    return tuple(dict.fromkeys(SOURCE_OF[task] for task in TASKS if task in tasks))


def _sample(name: str) -> Path:
    return shipped("data", "signaldetection", "sample", _SAMPLE_FILES[name])


def input_digests(benchmark: Bound) -> dict[str, str]:
    """Return the SHA-256 of every file the items are built from; a source that is not fetched is left out."""
    names = wanted(benchmark.settings.tasks)
    if benchmark.settings.dataset == "sample":
        return {name: sha256_hex(_sample(name).read_bytes()) for name in names}
    return source_files.kept_digests(SOURCES, benchmark.study.home, names)


def texts_of(benchmark: Bound) -> dict[str, Texts]:
    """Return the sources by name, verified; SourceError where one is missing or not the pinned one."""
    names, home = wanted(benchmark.settings.tasks), benchmark.study.home
    if benchmark.settings.dataset == "sample":
        return {name: read_table(_sample(name), _sample(name).stem) for name in names}
    return {name: _READ[name](SOURCES[name].load(home), name) for name in names}


def bring_sources(benchmark: Bound, inputs: Inputs) -> Made:
    """Bring the texts that the study's tasks need home."""
    origin, read = source_files.brought(SOURCES, benchmark), texts_of(benchmark).values()
    first = [
        pl.DataFrame({"source": t.name, "label": t.labels[:5], "sentence": t.sentences[:5]}) for t in read
    ]
    return Made(frame=pl.concat(first), facts={"origin": origin, "sentences": sum(map(len, read))})


def make_items(benchmark: Bound, inputs: Inputs) -> Made:
    """Build the items of the study's tasks."""
    chosen = benchmark.settings
    trials = {task: chosen.trials_of(task) for task in TASKS if task in chosen.tasks}
    items = build(texts_of(benchmark), trials, benchmark.seed, chosen.dataset)
    counts = Counter(f"{item.task}{item.stimulus}" for item in items)
    by_label = {f"{task}{label}": counts[f"{task}{label}"] for task in trials for label in (0, 1)}
    both = (all(by_label.values()), by_label)
    return Made(rows=items, facts={"dataset": chosen.dataset, **by_label}, checks={"both_labels": both})


STEPS = (
    Step(
        "sources", "Labelled sentences: film reviews (task A), oral and written ones (tasks B and C), or the sample's.",
        bring_sources, inputs=input_digests,
    ),
    Step(
        "items", "The trials of the tasks: a text and one of two labels, the same for every model, run and condition.",
        make_items, needs=("sources",), writes=Item, inputs=input_digests,
        checks={"both_labels": "Each task has trials of both labels; without, nothing can be discriminated."},
    ),
)  # fmt: skip


def sample_items(seed: int = 0) -> list[Item]:
    """Return every item of the sample that ships with the package; ``seed`` decides what task C deletes."""
    read = {name: read_table(_sample(name), _sample(name).stem) for name in _SAMPLE_FILES}
    return build(read, dict.fromkeys(TASKS, max(map(len, read.values()))), seed, "sample")
