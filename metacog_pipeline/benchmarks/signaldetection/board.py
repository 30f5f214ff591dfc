"""How signal detection is printed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from metacog_pipeline.benchmark.display import Board, Column
from metacog_pipeline.errors import one_line


def notes(read: Callable[[str], Sequence[tuple[Any, ...]]]) -> Iterator[str]:
    """Yield one line per model and task: how far the criterion moved, and what that amounts to."""
    found = read(
        "select task, model, source, a, b, difference, verdict, paired_verdict from signaldetection_criterion_shifts "
        "where measure = 'c' and source <> 'published' and 'risk_none' in (a, b) order by source, task, model, b desc"
    )
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


def _word(name: str | None) -> str:
    known = {"risk_none": "no risk", "not_significant": "not significant"}
    return "untested" if name is None else known.get(name, name)


BOARD = Board(
    columns=(
        Column("d", "d′", instead="d_bayes"),
        Column("c", "c"),
        Column("meta_d", "meta-d′", instead="meta_d_bayes"),
        Column("m_ratio", "M-ratio"),
        Column("m_ratio_bayes", "posterior"),
        Column("auroc2", "AUROC2"),
        Column("ece", "ECE"),
        Column("accuracy", "accuracy"),
    ),
    order=(("m_ratio_bayes", "m_ratio"), ("d", "d_bayes"), ("accuracy",)),
    legend=(
        'Below each value its 95 % interval. A: sentiment, B: oral or written, C: was one "the" deleted.\n'
        "d′: how well the two labels are told apart; c: which one is leant to (below 0: label 1); meta-d′: what the\n"
        "confidence knows of that, in the unit of d′; M-ratio: meta-d′ / d′, 1 is optimal; posterior: its posterior mean.\n"
        "risk_s1, risk_s2: wrongly saying label 0, label 1 is punished. N/A: no value, table estimates says why.\n"
    ),
    stands_in="*: a posterior mean; the paper prints no other.\n",
    about={
        "published": " (drawn from the sources the paper names, by this study's seed)",
        "sample": " (written for this project; not comparable with the literature)",
    },
    summed_up=("risk_none", "risk_s1", "risk_s2"),
    notes=notes,
)
