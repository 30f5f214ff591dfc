"""What an import shows: each decision about a log in one line, and how its own accuracy compares with ours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from metacog_pipeline.benchmark.contract import Call
from metacog_pipeline.errors import one_line
from metacog_pipeline.interchange.logs.matching import Matched
from metacog_pipeline.interchange.question_rules import QuestionRows
from metacog_pipeline.interchange.record import Sample
from metacog_pipeline.transcripts.lines import encode_logprobs

if TYPE_CHECKING:
    from metacog_pipeline.interchange.logs.importing import Done, LogOptions

_NAMED, _LEAST_READ, _REASONS = 3, 20, 8


def show(
    done: Done, samples: Sequence[Sample], names: Mapping[str, str], matched: Matched, into: Any, condition: str,
    options: LogOptions,
) -> None:  # fmt: skip
    """Show how a log was understood, line by line."""
    if options.show is None:
        return
    for line in (
        _what(samples, names, into, condition),
        _questions(matched),
        *_rows(done, samples),
        *_verdicts(samples, into, condition),
        *_advice(samples, condition),
    ):
        options.show(line)


def _what(samples: Sequence[Sample], names: Mapping[str, str], into: Any, condition: str) -> str:
    runs = sorted({each.run for each in samples if each.why is None})
    models = ", ".join(name if name == model else f"{name} ({model})" for model, name in names.items())
    return f"{len(samples)} samples of {models}, runs {runs[0]} to {runs[-1]}, as answers to {into.name} {condition}"


def _questions(matched: Matched) -> str:
    line = "questions found by " + ", ".join(f"{by}: {n}" for by, n in matched.by.items())
    if matched.repeats:
        line += f"; {matched.repeats} ask a question of the log once more, under another id: taken as further runs"
    if matched.reordered:
        line += f"; {matched.reordered} show its options in another order: each is read in its own"
    return line


def _rows(done: Done, samples: Sequence[Sample]) -> list[str]:
    """Return where each row of the log went, then the reasons."""
    lost = sum(each.why is not None and not each.same for each in samples)
    parts = [
        f"{done.kept} kept",
        f"{done.known} known before",
        f"{done.same} the same once more",
        f"{lost} not kept",
    ]
    lines = [
        f"{done.rows} rows: {', '.join(each for each in parts if not each.startswith('0 ') or 'kept' in each)}"
    ]
    reasons = Counter((what, why) for _, what, why in done.left_out)
    for (what, why), n in reasons.most_common(_REASONS):
        lines.append(f"{n} {'sample' if n == 1 else 'samples'} {what}: {one_line(why, 120)}")
    if len(reasons) > _REASONS:
        lines.append(f"{len(reasons) - _REASONS} further reasons are in the list of rows that were not taken")
    return lines


def _verdicts(samples: Sequence[Sample], into: Any, condition: str) -> list[str]:
    """Compare the log's verdicts with ours, and report a key that no reply fits."""
    items = {item.item_id: item for item in into.items}
    ours: dict[int, int] = {}
    for each in samples:
        if each.why is None and each.unscored is None and items[each.item].kind != "graded":
            found = read(into, items[each.item], condition, each).correct
            if found is not None:
                ours[id(each)] = int(found)
    lines = []
    judged = [each for each in samples if each.right is not None and id(each) in ours]
    if judged:
        right, mine = sum(bool(each.right) for each in judged), sum(ours[id(each)] for each in judged)
        other = [each.name for each in judged if ours[id(each)] != int(bool(each.right))]
        n = len(judged)
        line = f"accuracy by the log's own verdicts {right / n:.3f}, by key {mine / n:.3f} of {n}"
        shown = ", ".join(other[:_NAMED])
        lines.append(
            f"{line}: log and study differ on right or wrong in {len(other)} of {n} samples: {shown}; the "
            "study counts"
            if other
            else line
        )
    if len(ours) >= _LEAST_READ and not any(ours.values()):
        first = next(each for each in samples if id(each) in ours)
        key = one_line(str(items[first.item].answer), 40)
        lines.append(
            f"none of the {len(ours)} answers is right by the key: is it the right answers, and in the form of the "
            f"replies? such as {key!r}"
        )
    return lines


def read(into: Any, item: Any, condition: str, each: Sample) -> Any:
    """Return what the benchmark reads of an answer."""
    from metacog_pipeline.interchange.logs.importing import mode_of

    mode = mode_of(each, item.kind == "graded")
    call = Call(each.said.status.value, each.said.text, mode, encode_logprobs(each.said.logprobs))
    return into.parse(item, condition, {QuestionRows.step: call})


def _advice(samples: Sequence[Sample], condition: str) -> list[str]:
    """Return what would make the board say more."""
    if condition != QuestionRows.unstated:
        return []
    return [
        "no confidence was found, so accuracy alone is measured: ask for one in the prompt (a last line "
        "'Confidence: <0 to 100>'), or log the probabilities of single letters, and import the new log"
    ]
