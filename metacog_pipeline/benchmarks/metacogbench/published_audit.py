"""The published numbers against their own parts: which rows follow from what is printed beside them, and which do not.

Tables 3 to 7 of the paper that introduces MetaCog-Bench. Composites are recomputed from tiers, the overall score from
composites as well; rates of three runs must be reachable with whole numbers of tasks; spreads of means must lie between
what their parts allow; an ECE cannot be below the gap between mean accuracy and mean confidence. Replies are not published,
so nothing is scored again. Nothing expected is written down: the notes follow from the figures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import combinations_with_replacement
from pathlib import Path

import polars as pl

from metacog_pipeline.benchmarks.metacogbench.groups import COMPOSITES, PARTS, composites, rounded, run_stats
from metacog_pipeline.scoring.published import Check, audit_frame, check

FILES = ("table_3.csv", "table_4.csv", "table_5.csv", "table_6.csv", "table_7.csv", "claims.csv")
#: Tasks of each tier in the scaled set.
TASKS: Mapping[str, int] = {"t1a": 33, "t2a": 30, "t2b": 30, "t3": 20}
RUNS = 3
HALF_DIGIT = 0.0005  # what three printed decimals hide
HALF_TENTH = 0.05  # what one printed decimal of a percentage hides
HALF_POINT = 0.5  # what a whole percentage hides
_EDGE = "only just: every part must have been rounded as far as possible in one direction"


def audit_tables(data: Path) -> pl.DataFrame:
    """Return one row per check of the tables in ``data``, in `AUDIT_SCHEMA`.

    ``subject`` is a model or a category. ``difference`` is recomputed minus published; where only a range is possible,
    ``recomputed`` is its end nearest to the printed number. ``tolerance`` is what rounding of the printed parts explains.
    """
    given = {name: pl.read_csv(data / name, glob=False) for name in FILES}
    first, scaled = given["table_3.csv"], given["table_7.csv"]
    claims = {(row["subject"], row["quantity"]): row for row in given["claims.csv"].iter_rows(named=True)}
    rows = [
        *_first_composites(first),
        *_totals(given["table_4.csv"], first),
        *_calibration(given["table_5.csv"], first, claims),
        *_judge(given["table_6.csv"], first),
        *_scaled_composites(scaled),
        *_reachable(scaled),
        *_spreads(scaled),
    ]
    return audit_frame(rows)


def triples(tasks: int, mean_pct: float, sd_pct: float, runs: int = RUNS) -> list[tuple[int, ...]]:
    """Return the numbers of tasks passed in each run, out of ``tasks``, that print as this mean ± spread (n - 1)."""
    found = []
    for passed in combinations_with_replacement(range(tasks + 1), runs):
        if abs(100 * sum(passed) / (runs * tasks) - mean_pct) > 2 * HALF_TENTH:
            continue
        mean, sd = run_stats([100 * each / tasks for each in passed])
        assert mean is not None and sd is not None
        if rounded(mean, 1) == rounded(mean_pct, 1) and rounded(sd, 1) == rounded(sd_pct, 1):
            found.append(passed)
    return found


def _check(
    place: str, subject: str, quantity: str, method: str, published: float, recomputed: float,
    tolerance: float, note: str | None = None,
) -> Check:  # fmt: skip
    """Return the check, with a remark where the number follows by a hair."""
    made = check(place, subject, quantity, method, published, recomputed, tolerance, note)
    edge = made.follows and tolerance > 0 and abs(made.difference) > 0.95 * tolerance
    return made._replace(note=_EDGE) if edge else made


def _composites(
    place: str,
    row: Mapping[str, float | str],
    tiers: Mapping[str, float],
    slack: Mapping[str, float],
    end: str,
) -> Iterator[Check]:
    """Yield each composite from its tiers, and the overall score from the printed composites too."""
    printed = {name: float(row[f"{name}{end}"]) for name in COMPOSITES}
    hidden = composites(slack)
    for name, value in composites(tiers).items():
        assert value is not None
        tolerance = (hidden[name] or 0.0) + HALF_DIGIT
        yield _check(
            place, str(row["model"]), name, "tiers", printed[name], value, tolerance,
            _instead(printed[name], tiers, name),
        )  # fmt: skip
    value = sum(printed[part] for part in PARTS["overall"]) / len(PARTS["overall"])
    method = "printed composites"
    yield _check(place, str(row["model"]), "overall", method, printed["overall"], value, 2 * HALF_DIGIT)


def _instead(printed: float, tiers: Mapping[str, float], name: str) -> str | None:
    """Return which single tier a composite that does not follow is equal to."""
    alone = [part for part in PARTS[name] if part in tiers and abs(tiers[part] - printed) <= 2 * HALF_DIGIT]
    return (
        f"the printed number is that of {alone[0]} alone"
        if alone
        else "rests on a number that does not follow"
    )


def _first_composites(table: pl.DataFrame) -> Iterator[Check]:
    slack = dict.fromkeys(TASKS, 0.0) | {"t1b": HALF_DIGIT}
    for row in table.iter_rows(named=True):
        tiers = {name: row[f"{name}_k"] / row[f"{name}_n"] for name in TASKS}
        yield from _composites("table 3", row, tiers | {"t1b": 1 - row["ece_pre"]}, slack, "")


def _scaled_composites(table: pl.DataFrame) -> Iterator[Check]:
    slack = dict.fromkeys((*TASKS, "t1b"), HALF_DIGIT)
    for row in table.iter_rows(named=True):
        tiers = {name: row[f"{name}_pct_mean"] / 100 for name in TASKS}
        yield from _composites("table 7", row, tiers | {"t1b": 1 - row["ece_pre_mean"]}, slack, "_mean")


def _totals(table: pl.DataFrame, first: pl.DataFrame) -> Iterator[Check]:
    passed = dict(table.group_by("model").agg(pl.col("passed").sum()).iter_rows())
    for model, k in first.select("model", "t1a_k").iter_rows():
        yield _check("table 4", model, "t1a_k", "sum over tasks", k, passed[model], 0.0, "counted otherwise")


def _calibration(
    table: pl.DataFrame, first: pl.DataFrame, claims: Mapping[tuple[str, str], Mapping[str, float | str]]
) -> Iterator[Check]:
    """Yield the least ECE the group means allow, and what is said of changes."""
    printed = dict(first.select("model", "ece_pre").iter_rows())
    for (model,), groups in table.group_by("model", maintain_order=True):
        name, n = str(model), int(groups["n_items"].sum())
        shares = groups.select("n_items", "accuracy_pct").iter_rows()
        right = sum(round(k * share / 100) for k, share in shares)
        means = {
            which: float((groups["n_items"] * groups[f"{which}_pct"]).sum()) / n / 100
            for which in ("pre", "post")
        }
        stated = {"ece_pre": printed[name]}
        if post := claims.get((name, "ece_post")):
            stated["ece_post"] = float(post["value"])
        for quantity, value in stated.items():
            said = means[quantity.removeprefix("ece_")]
            least = abs(right / n - said)
            yield _check(
                "table 5", name, quantity, "at least |accuracy - mean confidence|", value, max(least, value),
                HALF_POINT / 100 + HALF_DIGIT,
                f"the groups printed give accuracy {right / n:.3f} and mean confidence {said:.3f}: no bins make the error "
                f"smaller than {least:.3f}",
            )  # fmt: skip
        if delta := claims.get((name, "ece_delta")):
            change = stated["ece_pre"] - stated["ece_post"]
            place, value = str(delta["place"]), float(delta["value"])
            yield _check(place, name, "ece_delta", "ECE before - after", value, change, 3 * HALF_DIGIT)
        if shift := claims.get((name, "mean_shift")):
            change = means["post"] - means["pre"]
            place, value = str(shift["place"]), float(shift["value"])
            yield _check(
                place, name, "mean_shift", "mean confidence after - before", value, change, 3 * HALF_POINT / 100,
                "the groups printed give another",
            )  # fmt: skip


def _judge(table: pl.DataFrame, first: pl.DataFrame) -> Iterator[Check]:
    """Yield the drops, and the rule-based scores against the model's row in table 3."""
    own = first.row(by_predicate=pl.col("model") == "gemini-flash", named=True)
    rates = {
        "ecological_validity": 100 * own["t2a_k"] / own["t2a_n"],
        "sycophancy_resistance": 100 * own["t2b_k"] / own["t2b_n"],
        "domain_transfer": 100 * own["t3_k"] / own["t3_n"],
        "overall": 100 * own["overall"],
    }
    for category, judged, ruled, drop in table.iter_rows():
        given = partial(_check, "table 6", category)
        yield given("drop_points", "judge - rules", drop, judged - ruled, 3 * HALF_TENTH)
        yield given("deterministic_pct", "gemini-flash in table 3", ruled, rates[category], 2 * HALF_TENTH)


def _reachable(table: pl.DataFrame) -> Iterator[Check]:
    """Yield whether whole numbers of tasks in three runs give each printed rate with its spread."""
    for row in table.iter_rows(named=True):
        for name, tasks in TASKS.items():
            mean, sd = row[f"{name}_pct_mean"], row[f"{name}_pct_std"]
            method = f"three runs of {tasks} whole tasks, spread with n - 1"
            if triples(tasks, mean, sd):
                yield _check("table 7", row["model"], f"{name}_pct", method, mean, mean, HALF_TENTH)
                continue
            nearest = round(mean / 100 * RUNS * tasks) * 100 / (RUNS * tasks)
            made = _check("table 7", row["model"], f"{name}_pct", method, mean, nearest, HALF_TENTH)
            yield made._replace(follows=False, note=_unreachable(mean, sd, tasks))


def _unreachable(mean: float, sd: float, tasks: int) -> str:
    said = f"no three whole numbers of {tasks} tasks give {mean} ± {sd}"
    for other in sorted(set(TASKS.values()) - {tasks}):
        if found := triples(other, mean, sd):
            return f"{said}; {'-'.join(map(str, found[0]))} of {other} tasks would"
    for near in (-1, 1):
        changed = rounded(mean + near / 10, 1)
        if found := triples(tasks, changed, sd):
            return f"{said}; {'-'.join(map(str, found[0]))} give {changed} ± {sd}"
    return said


def _spreads(table: pl.DataFrame) -> Iterator[Check]:
    """Yield whether the spread of each composite lies between what the spreads of its parts allow."""
    for row in table.iter_rows(named=True):
        spread = {name: row[f"{name}_pct_std"] / 100 for name in TASKS} | {"t1b": row["ece_pre_std"]}
        for name in COMPOSITES:
            parts = [spread[part] for part in PARTS[name]]
            most = sum(parts) / len(parts)
            least = max(0.0, (2 * max(parts) - sum(parts)) / len(parts))
            printed = row[f"{name}_std"]
            # A spread that does not follow is not taken on: what rests on it is held to the printed one.
            spread[name] = printed
            yield _check(
                "table 7", row["model"], f"{name}_sd", "range its parts allow", printed,
                min(max(printed, least), most), 2 * HALF_DIGIT,
                f"the spreads of its parts allow {least:.4f} to {most:.4f}",
            )  # fmt: skip
