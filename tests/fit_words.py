"""Fit the weights of words: ``python -m tests.fit_words [--held-out]``.

One reader weighs words where no rule foresees them: `giving_in` (tier 2b: does the free reply give in?). Without an option
the weights of all labelled batches are written.
``--held-out`` writes nothing and prints Cohen's kappa of each batch, read by weights fitted on the others: of the weights
alone, and of them with the rules, which have seen every batch.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import minimize

from metacog_pipeline.benchmark.answers.weights import Weights
from metacog_pipeline.benchmarks.metacogbench.items import Item
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers import giving_in
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.claims import Task
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.overreach import bare_text, by_clauses, decided
from metacog_pipeline.benchmarks.metacogbench.prompts import LETTERS
from metacog_pipeline.files import shipped
from tests import batches

LEAST, SMALLEST = 2, 0.03  # replies with a feature; weights below are not written
PENALTY, OF_ITEM = 0.02, 0.015  # L2; that of a word of one item
POSITIONS = batches.TESTS / "metacogbench/data/positions_2b.jsonl"


class Row(NamedTuple):
    """A labelled reply: what is weighed of it, and how it is read by given weights, alone and with the rules.

    Who has no readings trains only.
    """

    batch: str
    label: int
    features: dict[str, float]
    alone: Callable[[Weights], bool] | None = None
    with_rules: Callable[[Weights], bool] | None = None


def free_replies() -> Iterable[Row]:
    """Replies to tier 2b whose label says what the free reply does: those with the right option."""
    for name in (each for each in batches.FILES if each.startswith("verdicts_2b")):
        for row in batches.rows(name):
            item, probe = batches.ITEMS[row["item_id"]], row.get("probe")
            label = given_in(item, row["passed"], probe)
            if label is None:
                continue
            task, text = Task.of(item), bare_text(row["response"])

            def alone(weights, text=text, task=task):
                return giving_in.gives_way(text, task, weights) > 0

            def both(weights, text=text, task=task):
                return decided(by_clauses(text, task), giving_in.gives_way(text, task, weights), task)

            yield Row(name, label, giving_in.features(text, task), alone, both)
    yield from positions()


def given_in(item: Item, passed: int, probe: str | None) -> int | None:
    """Return whether a labelled reply gives in; None where its label speaks of its option."""
    roles = dict(zip(LETTERS, (option.role for option in item.options), strict=False))
    if item.control:
        return passed if probe is None else None
    if probe is not None and len(probe) == 1:
        return 1 - passed if roles.get(probe) in item.right else None
    return 0 if passed else None


def positions() -> Iterable[Row]:
    """Sentences that giving in and holding would say of any item, and of each beside those of the item itself."""
    for line in POSITIONS.read_text("utf-8").splitlines():
        row = json.loads(line)
        if not row["item_id"]:
            for label, texts in ((1, row["gives"]), (0, row["holds"])):
                yield from (
                    Row("positions", label, giving_in.features(bare_text(text), Task(""))) for text in texts
                )
            continue
        item = batches.ITEMS[row["item_id"]]
        own = {option.role: option.text for option in item.options}
        gives = [*row["gives"], own["give"], item.overcorrection]
        holds = [*row["holds"], own["keep"], own["partial"], item.core_claim]
        for label, texts in ((1, gives), (0, holds)):
            for text in texts:
                yield Row("positions", label, giving_in.features(bare_text(text), Task.of(item)))


KINDS = {("metacogbench", "giving_in"): free_replies}


def fit(of: list[Row]) -> dict[str, float]:
    """Return the weight of each feature that stands in enough replies."""
    seen: dict[str, int] = defaultdict(int)
    for name in (name for row in of for name in row.features):
        seen[name] += 1
    columns = {name: at for at, name in enumerate(sorted(name for name, n in seen.items() if n >= LEAST))}
    cells = [
        (at, columns[name], value / max(1, len(known)) ** 0.5)
        for at, row in enumerate(of)
        for part in giving_in.parts(row.features)
        for known in [[name for name, value in part.items() if value and name in columns]]
        for name, value in ((each, part[each]) for each in known)
    ]
    where, which, values = (np.array(each) for each in zip(*cells, strict=True))
    given = sparse.csr_matrix((values, (where, which)), shape=(len(of), len(columns)))
    signs = np.array([2 * row.label - 1 for row in of])
    penalty = np.array([OF_ITEM if giving_in.OF_ITEM in name else PENALTY for name in columns])

    def loss(weights):
        margin = signs * (given @ weights)
        slope = -(given.T @ (signs / (1 + np.exp(margin)))) + 2 * penalty * weights
        return np.logaddexp(0, -margin).sum() + penalty @ weights**2, slope

    weights = minimize(loss, np.zeros(len(columns)), jac=True, method="L-BFGS-B", options={"maxiter": 500}).x
    return {
        name: round(float(weights[at]), 2) for name, at in columns.items() if abs(weights[at]) >= SMALLEST
    }


def held_out(of: list[Row]) -> None:
    alone, both = defaultdict(list), defaultdict(list)
    for batch in dict.fromkeys(row.batch.split()[0] for row in of if row.alone):
        weights = fit([row for row in of if row.batch.split()[0] != batch])
        for row in (each for each in of if each.batch.split()[0] == batch):
            for group in (row.batch, "all"):
                alone[group].append((row.label, int(row.alone(weights))))
                both[group].append((row.label, int(row.with_rules(weights))))
    for group, pairs in alone.items():
        print(
            f"{group:24} n {len(pairs):4} words {batches.kappa(pairs):.2f} with rules {batches.kappa(both[group]):.2f}"
        )


def main(words: list[str]) -> None:
    for (folder, name), replies in KINDS.items():
        of = list(replies())
        if "--held-out" in words:
            held_out(of)
            continue
        weights = fit(of)
        lines = ",\n".join(
            f"{json.dumps(each, ensure_ascii=False)}: {weights[each]}" for each in sorted(weights)
        )
        shipped("data", folder, f"{name}.json").write_text("{\n" + lines + "\n}\n", "utf-8")
        print(f"{name}: {len(weights)} weights of {len(of)} replies")


if __name__ == "__main__":
    main(sys.argv[1:])
