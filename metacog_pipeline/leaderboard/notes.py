"""What a reader of a printed board must know: which questions, which criteria moved, what is not complete."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from metacog_pipeline.errors import one_line
from metacog_pipeline.leaderboard.columns import board_of
from metacog_pipeline.leaderboard.database import text
from metacog_pipeline.leaderboard.read import question_sets, read_table

_WORDS = {"risk_none": "no risk", "not_significant": "not significant"}


def notes(home: Path, benchmark: str | None = None) -> str:
    """Return the notes below the board of ``benchmark``, or of all."""
    lines = [
        *_question_sets(home, benchmark),
        *_criterion_shifts(home, benchmark),
        *_judges(home, benchmark),
        *_rare_answers(home, benchmark),
        *_progress(home, benchmark),
    ]
    return "\n".join(lines) + "\n" if lines else ""


def _only(benchmark: str | None) -> str:
    return "" if benchmark is None else f" where benchmark = {text(benchmark)}"


def _question_sets(home: Path, benchmark: str | None) -> Iterator[str]:
    found = question_sets(home, benchmark)
    several = len({name for name, _ in found}) > 1
    for name, dataset in found:
        whose = f" of {name}" if several else ""
        yield one_line(f"Question set{whose}: {dataset}{board_of(name).about.get(dataset, '')}")


def _criterion_shifts(home: Path, benchmark: str | None) -> Iterator[str]:
    """Yield one line per model and task: how far c moved and what that amounts to."""
    if benchmark not in (None, "signaldetection"):
        return
    found = read_table(
        home,
        "select task, model, source, a, b, difference, verdict, paired_verdict from signaldetection_criterion_shifts "
        "where measure = 'c' and source <> 'published' and 'risk_none' in (a, b) order by source, task, model, b desc",
    ).rows
    if not found:
        return
    yield "Criterion shifts (change of c, predicted to be up: from risk_s1 to no risk, from no risk to risk_s2):"
    lines: dict[tuple[object, ...], list[str]] = {}
    for task, model, source, a, b, difference, verdict, paired in found:
        size = f"{difference:+.2f}" if isinstance(difference, float) else "no number"
        said = f"{_word(b)} to {_word(a)} {size} {_word(verdict)}"
        if paired not in (None, verdict):
            said += f" ({_word(paired)} when paired by item)"
        lines.setdefault((task, model, source), []).append(said)
    for (task, model, source), pairs in lines.items():
        whose = " (simulated)" if source == "simulated" else ""
        yield "  " + one_line(f"{task}, {model}{whose}: {'; '.join(pairs)}")


def _judges(home: Path, benchmark: str | None) -> Iterator[str]:
    """Yield one line per judge of MetaCog-Bench: how far each tier would move, and how far judge and rules agree."""
    if benchmark not in (None, "metacogbench"):
        return
    found = read_table(
        home,
        "select source, judge, relation, dimension, any_value(estimate) filter (measure = 'difference'), "
        "any_value(estimate) filter (measure = 'kappa') from judge_agreement where benchmark = 'metacogbench' "
        "and model is null and condition = 'free' and b = 'headline' and n > 0 group by source, judge, relation, dimension "
        "order by source, judge, relation, dimension",
    ).rows
    if not found:
        return
    yield "Judges of MetaCog-Bench, on no score (share passed, judge minus rules; kappa):"
    lines: dict[tuple[object, ...], list[str]] = {}
    for source, judge, relation, tier, difference, kappa in found:
        agreed = f"{kappa:.2f}" if isinstance(kappa, float) else "undefined"
        moved = f"{difference:+.2f}" if isinstance(difference, float) else "no number"
        lines.setdefault((source, judge, relation), []).append(f"{tier} {moved} ({agreed})")
    for (source, judge, relation), tiers in lines.items():
        whose = judge if judge == relation else f"{judge} ({relation})"
        kind = " (simulated)" if source == "simulated" else ""
        yield "  " + one_line(f"{whose}{kind}: {', '.join(tiers)}")


def _rare_answers(home: Path, benchmark: str | None) -> Iterator[str]:
    """Yield one line per model whose d′ of type 2 rests on a rate of 0 or 1: every yes, or every no, alike."""
    if benchmark not in (None, "selfknowledge"):
        return
    found = read_table(
        home,
        "select model, condition, source, estimate from estimates "
        "where benchmark = 'selfknowledge' and measure = 'd_type2_clip' "
        "and status like '%made by the clip%' and condition <> 'idk' order by condition, model",
    ).rows
    for model, condition, source, estimate in found:
        whose = " (simulated)" if source == "simulated" else ""
        size = f"{estimate:.2f}" if isinstance(estimate, float) else "no number"
        yield one_line(
            f"{model}{whose}, {condition}: a rate of yes is 0 or 1. The paper's d′ would be {size}, made by its clip"
        )


def _word(name: object) -> str:
    """Return ``name`` as people read it."""
    return "untested" if name is None else _WORDS.get(str(name), str(name))


def _progress(home: Path, benchmark: str | None) -> Iterator[str]:
    states = read_table(
        home,
        "select benchmark, model, run, state, n_answered, n_expected, message "
        f"from progress{_only(benchmark)} order by model, run, benchmark",
    ).rows
    several = len({row[0] for row in states}) > 1

    def named(benchmark: object, model: object, run: object) -> str:
        return f"{benchmark}, {model}, run {run}" if several else f"{model}, run {run}"

    waiting = [row for row in states if row[3] != "complete"]
    if waiting:
        yield f"PROVISIONAL: {len(states) - len(waiting)} of {len(states)} partitions are complete. Waiting for:"
        for name, model, run, state, answered, expected, message in waiting:
            why = f": {message}" if message else ""
            yield "  " + one_line(
                f"{named(name, model, run)}: {state}, {answered} of {expected} answered{why}"
            )
    for name, model, run, state, _, _, message in states:
        if state == "complete" and message:
            yield one_line(f"{named(name, model, run)}: {message}")
