"""What an import shows: each decision about a log in one line, and how its own accuracy compares with ours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from metacog_pipeline.benchmark.contract import Call
from metacog_pipeline.errors import one_line
from metacog_pipeline.interchange.logs.matching import Matched
from metacog_pipeline.interchange.question import LETTERS
from metacog_pipeline.interchange.question_rules import QuestionRows
from metacog_pipeline.interchange.record import Sample
from metacog_pipeline.transcripts.lines import encode_logprobs

if TYPE_CHECKING:
    from metacog_pipeline.interchange.logs.importing import Done

_NAMED, _LEAST_READ, _REASONS = 3, 20, 8


def lines(
    done: Done,
    samples: Sequence[Sample],
    names: Mapping[str, str],
    matched: Matched,
    into: Any,
    condition: str,
) -> Iterator[str]:
    """Yield how a log was understood, line by line."""
    runs = sorted({each.run for each in samples if each.why is None})
    models = ", ".join(name if name == model else f"{name} ({model})" for model, name in names.items())
    about = f"as answers to {into.name} {condition}"
    yield f"{len(samples)} samples of {models}, runs {runs[0]} to {runs[-1]}, {about}"
    found = "questions found by " + ", ".join(f"{by}: {n}" for by, n in matched.by.items())
    if matched.repeats:
        found += f"; {matched.repeats} ask a question of the log once more, under another id: taken as further runs"
    if matched.reordered:
        found += f"; {matched.reordered} show its options in another order: each is read in its own"
    yield found
    yield from _rows(done, samples)
    yield from _verdicts(samples, into, condition)
    if condition == QuestionRows.unstated:
        yield (
            "no confidence was found, so accuracy alone is measured: ask for one in the prompt (a last line "
            "'Confidence: <0 to 100>'), or log the probabilities of single letters, and import the new log"
        )


def _rows(done: Done, samples: Sequence[Sample]) -> Iterator[str]:
    """Yield where the rows of the log went, then the reasons."""
    lost = sum(each.why is not None and not each.same for each in samples)
    counted = [(done.kept, "kept"), (done.known, "known before"), (done.same, "the same once more")]
    parts = [f"{n} {what}" for n, what in (*counted, (lost, "not kept")) if n or "kept" in what]
    yield f"{done.rows} rows: {', '.join(parts)}"
    reasons = Counter((what, why) for _, what, why in done.left_out)
    for (what, why), n in reasons.most_common(_REASONS):
        yield f"{n} {'sample' if n == 1 else 'samples'} {what}: {one_line(why, 120)}"
    if len(reasons) > _REASONS:
        yield f"{len(reasons) - _REASONS} further reasons are in the list of rows that were not taken"


def _verdicts(samples: Sequence[Sample], into: Any, condition: str) -> Iterator[str]:
    """Compare the log's verdicts with ours, and report a key that no reply fits."""
    items = {item.item_id: item for item in into.items}
    read_here: list[tuple[Sample, int]] = []
    for each in samples:
        if each.why is None and each.unscored is None and items[each.item].kind != "graded":
            found = read(into, items[each.item], condition, each).correct
            read_here += [] if found is None else [(each, int(found))]
    judged = [(each, mine) for each, mine in read_here if each.right is not None]
    if n := len(judged):
        right, own = sum(bool(each.right) for each, _ in judged), sum(mine for _, mine in judged)
        line = f"accuracy by the log's own verdicts {right / n:.3f}, by key {own / n:.3f} of {n}"
        if other := [each.name for each, mine in judged if mine != int(bool(each.right))]:
            shown = ", ".join(other[:_NAMED])
            line += f": log and study differ on right or wrong in {len(other)} of {n} samples: {shown}; the study counts"
        yield line
    if any(each.order for each, _ in read_here):
        yield _by_position(items, read_here)
    if len(read_here) >= _LEAST_READ and not any(mine for _, mine in read_here):
        key = one_line(str(items[read_here[0][0].item].answer), 40)
        yield (
            f"none of the {len(read_here)} answers is right by the key: is it the right answers, and in the form of the "
            f"replies? such as {key!r}"
        )


def _by_position(items: Mapping[str, Any], read_here: Sequence[tuple[Sample, int]]) -> str:
    """Return the accuracy by the place at which the right option was shown: a position bias shows as a difference."""
    places: dict[int, list[int]] = {}
    for each, mine in read_here:
        if (item := items[each.item]).options:
            places.setdefault((each.order or LETTERS).index(item.answer), []).append(mine)
    parts = (f"{LETTERS[at]} {sum(own) / len(own):.3f} of {len(own)}" for at, own in sorted(places.items()))
    return f"accuracy by the place of the right option (position bias): {', '.join(parts)}"


def read(into: Any, item: Any, condition: str, each: Sample) -> Any:
    """Return what the benchmark reads of an answer."""
    from metacog_pipeline.interchange.logs.importing import mode_of

    mode = mode_of(each, item.kind == "graded")
    call = Call(each.said.status.value, each.said.text, mode, encode_logprobs(each.said.logprobs))
    return into.parse(item, condition, {QuestionRows.step: call})
