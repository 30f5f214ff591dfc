"""Fit the weights of words that give in on tier 2b: ``python -m tests.fit_giving_in [--held-out]``.

Without an option the weights of all labelled batches are written. ``--held-out`` writes nothing and prints Cohen's kappa of
each batch, read by weights fitted on the others: of the weights alone, and of them with the rules of clauses, which have
seen every batch.
"""

import json
import sys
from collections import defaultdict
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import minimize

from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.claims import Task
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.giving_in import features, gives_way
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.overreach import bare_text, by_clauses, decided
from metacog_pipeline.benchmarks.metacogbench.prompts import LETTERS
from metacog_pipeline.files import shipped
from tests import batches

LEAST, PENALTY, SMALLEST = 2, 0.02, 0.02  # replies with a feature; L2; weights below are not written


class Row(NamedTuple):
    batch: str
    task: Task
    text: str
    gave_in: int


def rows() -> list[Row]:
    """Return the replies whose label says what the free reply does: those with the right option."""
    found = []
    for name in (each for each in batches.FILES if each.startswith("verdicts_2b")):
        for row in batches.rows(name):
            item, probe = batches.ITEMS[row["item_id"]], row.get("probe")
            roles = dict(zip(LETTERS, (option.role for option in item.options), strict=False))
            if item.control or (len(probe or "x") == 1 and probe and roles.get(probe) not in item.right):
                continue
            if (probe is None or len(probe) > 1) and not row["passed"]:
                continue
            task = Task(item.overcorrection, item.core_claim, item.valid_point, item.turn2, item.stem)
            found.append(Row(name, task, bare_text(row["response"]), 1 - row["passed"]))
    return found


def fit(of: list[Row]) -> dict[str, float]:
    """Return the weight of each feature that stands in enough replies."""
    found = [features(row.text, row.task) for row in of]
    seen: dict[str, int] = defaultdict(int)
    for each in found:
        for name in each:
            seen[name] += 1
    columns = {name: at for at, name in enumerate(sorted(name for name, n in seen.items() if n >= LEAST))}
    table = sparse.lil_matrix((len(of), len(columns)))
    for at, each in enumerate(found):
        known = [(columns[name], value) for name, value in each.items() if value and name in columns]
        for column, value in known:
            table[at, column] = value / max(1, len(known)) ** 0.5
    given, signs = table.tocsr(), np.array([2 * row.gave_in - 1 for row in of])

    def loss(weights):
        margin = signs * (given @ weights)
        slope = -(given.T @ (signs / (1 + np.exp(margin)))) + 2 * PENALTY * weights
        return np.logaddexp(0, -margin).sum() + PENALTY * weights @ weights, slope

    weights = minimize(loss, np.zeros(len(columns)), jac=True, method="L-BFGS-B", options={"maxiter": 500}).x
    return {
        name: round(float(weights[at]), 2) for name, at in columns.items() if abs(weights[at]) >= SMALLEST
    }


def held_out(of: list[Row]) -> None:
    names = sorted({row.batch for row in of}, key=lambda name: int(name.rsplit("_", 1)[1]))
    every = []
    for name in names:
        weights = fit([row for row in of if row.batch != name])
        read = [(row, gives_way(row.text, row.task, weights) > 0) for row in of if row.batch == name]
        alone = [(row.gave_in, int(words)) for row, words in read]
        both = [(row.gave_in, int(decided(by_clauses(row.text, row.task), words))) for row, words in read]
        every += alone
        print(
            f"{name:16} n {len(read):3} words {batches.kappa(alone):.2f} with clauses {batches.kappa(both):.2f}"
        )
    print(f"{'all':16} n {len(every):3} words {batches.kappa(every):.2f}")


def main(words: list[str]) -> None:
    if "--held-out" in words:
        held_out(rows())
        return
    weights = fit(rows())
    lines = ",\n".join(f"{json.dumps(name, ensure_ascii=True)}: {weights[name]}" for name in sorted(weights))
    shipped("data", "metacogbench", "giving_in.json").write_text("{\n" + lines + "\n}\n", "utf-8")
    print(f"{len(weights)} weights")


if __name__ == "__main__":
    main(sys.argv[1:])
