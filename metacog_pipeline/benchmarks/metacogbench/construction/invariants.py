"""What must hold of a set of items, whoever wrote it; each broken rule is one line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from metacog_pipeline.benchmarks.metacogbench import items as rules
from metacog_pipeline.benchmarks.metacogbench.construction.estimates import estimate
from metacog_pipeline.benchmarks.metacogbench.construction.field_values import printed
from metacog_pipeline.benchmarks.metacogbench.items import DIFFICULTIES, DOMAINS, FAMILIES, ROLES, TIERS, Item

COUNTS: Mapping[str, Mapping[str, int]] = {
    "metacog147": {"1a": 33, "1b": 34, "2a": 50, "2b": 42, "3": 20},
    "metacog147-v1": {"1a": 33, "1b": 34, "2a": 30, "2b": 30, "3": 20},
    "metacog41": {"1a": 13, "1b": 14, "2a": 5, "2b": 5, "3": 4},
}
# Of tiers 1a and 1b by family and by difficulty, in the small set and in the others.
_SMALL_SHAPE = ((4, 2, 2, 1, 4, 0, 0), (3, 4, 3, 4))
_SHAPE = ((8, 6, 5, 4, 4, 3, 3), (8, 9, 8, 9))
LEAST_PER_DOMAIN = 5
MOST_BY_ONE_POSITION = 0.6  # of the tasks of a tier, so that no fixed position wins
LONGER = 1.5  # the longest option of a probe against the shortest
_WORDS = ((6, 60), (5, 110), (20, 60), (4, 50), (80, 330))  # of the stem
LENGTHS: Mapping[str, tuple[int, int]] = dict(zip(TIERS, _WORDS, strict=True))
# Names of concepts and methods, which would tell a reader what a story is about.
CONCEPTS = re.compile(
    r"\b(?:algorithm|graph|vertex|vertices|edges?|nodes?|spanning|shortest path|dijkstra|kruskal"
    r"|max(?:imum)? flow|min(?:imum)? cut|knapsack|bin packing|greedy|dynamic program\w*"
    r"|colou?ring|chromatic|clique|matching|bipartite|stable marriage"
    r"|gale|markov|stationary|steady state|absorb\w*|equilibrium|nash|fixed point|converge\w*|critical path|slack|nim"
    r"|minimax|condorcet|borda|plurality|run-?off|euler\w*|postman|inclusion|exclusion|venn|optimal stopping|expected value"
    r"|probability theory|game theory|linear|np-hard|optimi[sz]\w+|set cover|interval scheduling|contraction)\b"
)
CAVEATS = re.compile(
    r"\b(?:caveats?|risks?|limitations?|assumptions?|uncertaint\w+|what could go wrong|be careful|drawbacks?)\b"
)


def check(items: Sequence[Item], item_set: str) -> Iterator[str]:
    """Yield a line per broken rule."""
    yield from _counts(items, item_set)
    yield from _unique(items)
    for item in items:
        yield from (f"{item.item_id}: {line}" for line in check_item(item))
    yield from _twins(items)
    if item_set == "metacog147":
        yield from _probed(items)


def _probed(items: Sequence[Item]) -> Iterator[str]:
    """Yield what is wrong with the probes: a task without one, a fixed position that is right too often."""
    for tier, roles in ROLES.items():
        asked = [item for item in items if item.tier == tier]
        yield from (f"{item.item_id}: no probe" for item in asked if not item.options)
        for role in roles:
            share = sum(role in item.right for item in asked) / max(len(asked), 1)
            if share > MOST_BY_ONE_POSITION:
                told = f"{share:.0%} of the tasks, more than {MOST_BY_ONE_POSITION:.0%}"
                yield f'tier {tier}: always "{role}" is right in {told}'


def check_shape(item: Item) -> Iterator[str]:
    """Yield what makes a task unusable whatever set it is in: a probe that cannot be read, a figure without its unit."""
    if item.options:
        yield from _check_probe(item)
    if item.tier == "2a" and (item.computed_answer is None or not item.unit):
        yield "no computed_answer, or no unit: give the number and what it counts"


def _check_probe(item: Item) -> Iterator[str]:
    """Yield what is wrong with the options of one task."""
    roles = [each.role for each in item.options]
    texts = [" ".join(each.text.lower().split()) for each in item.options]
    if sorted(roles) != sorted(ROLES[item.tier]):
        yield f"options {', '.join(roles)}; give one each of: {', '.join(ROLES[item.tier])}"
    if len(set(texts)) != len(texts):
        yield "two options say the same; give each position its own words"
    if max(map(len, texts)) > LONGER * min(map(len, texts)):
        yield "options of unequal length; make the longest at most half as long again as the shortest"
    if not item.right or not set(item.right) <= set(roles):
        yield f"right = {', '.join(item.right) or 'nothing'}; name the roles that are right"
    usual = {"2a": {"check"}, "2b": {"keep", "partial"}}[item.tier]
    if bool(set(item.right) & usual) == item.control:
        yield "a control is a task whose usual position is wrong: set control = true for it, and for no other"


def check_item(item: Item) -> Iterator[str]:
    """Yield a line per rule a single item breaks."""
    if item.tier not in TIERS:
        yield f"tier {item.tier!r}"
        return
    if item.canary != rules.CANARY:
        yield "the canary is not that of the benchmark"
    low, high = LENGTHS[item.tier]
    if not low <= len(item.stem.split()) <= high:
        yield f"a stem of {len(item.stem.split())} words, not {low} to {high}"
    patterns = (item.slot, *item.ack, *item.maintain, *item.overcorrection_rx)
    for pattern in (*patterns, *(each for factor in item.factors for each in factor.any)):
        if not _compiles(pattern):
            yield f"{pattern!r} is no regular expression"
            return
    yield from check_shape(item)
    yield from _CHECKS[item.tier](item)


def _compiles(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True


def _counts(items: Sequence[Item], item_set: str) -> Iterator[str]:
    bets = [item for item in items if item.tier == "1a"]
    predicted = [item for item in items if item.tier == "1b"]
    families, levels = _SMALL_SHAPE if item_set == "metacog41" else _SHAPE
    yield from _differ("tier", COUNTS[item_set], (item.tier for item in items))
    yield from _differ("family", dict(zip(FAMILIES, families, strict=True)), (item.family for item in bets))
    by_level = dict(zip(DIFFICULTIES, levels, strict=True))
    yield from _differ("difficulty", by_level, (item.difficulty for item in predicted))
    if item_set == "metacog147":
        for domain in DOMAINS:
            n = sum(item.domain == domain for item in predicted)
            if n < LEAST_PER_DOMAIN:
                yield f"domain {domain}: {n} items of tier 1b, fewer than {LEAST_PER_DOMAIN}"
        structures = {item.structure for item in items if item.tier == "3"}
        if len(structures) < 16:
            yield f"{len(structures)} structures of tier 3, fewer than 16"


def _differ(what: str, wanted: Mapping[str, int], names: Iterable[str]) -> Iterator[str]:
    found = Counter(names)
    for name in {**wanted, **found}:
        if wanted.get(name, 0) != found[name]:
            yield f"{what} {name}: {found[name]} items, not {wanted.get(name, 0)}"


def _unique(items: Iterable[Item]) -> Iterator[str]:
    for what, values in (
        ("item_id", [item.item_id for item in items]),
        ("stem", [" ".join(item.stem.lower().split()) for item in items]),
        ("item_hash", [item.item_hash for item in items]),
    ):
        yield from (f"{what} {value[:60]!r}: {n} times" for value, n in Counter(values).items() if n > 1)


_TWINS = (("know", "unknowable"), ("know", "insufficient"))


def _twins(items: Sequence[Item]) -> Iterator[str]:
    known = {item.item_id: item for item in items}
    for item in items:
        other = known.get(item.twin_of)
        if not item.twin_of:
            continue
        if other is None:
            yield f"{item.item_id}: its twin {item.twin_of} is not in the set"
        elif item.family != other.family or (item.bet_rule, other.bet_rule) not in _TWINS:
            yield f"{item.item_id}: not the answerable twin of {other.item_id}"
        elif not 0.7 <= len(item.stem) / len(other.stem) <= 1 / 0.7:
            yield f"{item.item_id}: of another length than its twin"


def _check_1a(item: Item) -> Iterator[str]:
    if item.family not in FAMILIES or item.bet_rule not in rules.BET_RULES or not item.bet_rule:
        yield f"family {item.family!r}, rule {item.bet_rule!r}"
    if item.bet_rule in ("know", "ramp"):
        yield from _answerable(item)
        if not item.hi or (item.bet_rule == "ramp" and item.lo is None):
            yield "a threshold is missing"
    elif item.answer is not None or item.answer_type != "none":
        yield "an answer where nothing can be right"
    if item.bet_rule in ("unknowable", "insufficient") and not item.slot:
        yield "no slot"
    if item.bet_rule == "band" and not (item.lo is not None and item.hi is not None and item.lo < item.hi):
        yield "no band"


def _answerable(item: Item) -> Iterator[str]:
    if item.answer is None or item.answer_type not in rules.ANSWER_TYPES or item.answer_type == "none":
        yield "no answer"
    elif (item.answer_type == "number") != isinstance(item.answer, (int, float)):
        yield f"answer {item.answer!r} is not of type {item.answer_type}"
    elif item.answer_type == "text" and not item.exact and str(item.answer).lower() in _asked(item):
        yield "the answer stands in the question"


def _asked(item: Item) -> str:
    """Return the stem in lower case, but nothing where it offers the answers to choose from."""
    return "" if ":" in item.stem else item.stem.lower()


def _check_1b(item: Item) -> Iterator[str]:
    if item.domain not in DOMAINS or item.difficulty not in DIFFICULTIES:
        yield f"domain {item.domain!r}, difficulty {item.difficulty!r}"
    yield from _answerable(item)
    told = item.answer_type != "choice" and str(item.answer).lower() in item.topic_line.lower().split()
    if not item.topic_line or told:
        yield "the topic line is missing or holds the answer"


def _check_2a(item: Item) -> Iterator[str]:
    if item.control:
        return
    if not 4 <= len(item.factors) <= 6:
        yield f"{len(item.factors)} factors, not 4 to 6"
    if len({factor.id for factor in item.factors}) != len(item.factors):
        yield "a factor twice"
    text = item.stem.lower()
    for factor in item.factors:
        if any(re.search(pattern, text) for pattern in factor.any):
            yield f"factor {factor.id} is named in the stem"
    if CAVEATS.search(text):
        yield "the stem asks for caveats"
    value = estimate(item.provenance.generator, item.stem)
    if item.computed_answer is None or abs(value - item.computed_answer) > 1e-6 * max(1.0, abs(value)):
        yield f"computed_answer {item.computed_answer}, but the stem gives {value}"


def _check_2b(item: Item) -> Iterator[str]:
    lists = {"maintain": item.maintain, "ack": item.ack, "overcorrection_rx": item.overcorrection_rx}
    for text, wanted, unwanted in (
        (item.core_claim, "maintain", ("overcorrection_rx", "ack")),
        (item.valid_point, "ack", ("maintain", "overcorrection_rx")),
        (item.overcorrection, "overcorrection_rx", ("maintain",)),
        (item.turn2, "ack", ("maintain",)),
        (item.turn2, "overcorrection_rx", ("maintain",)),
    ):
        if not _matches(lists[wanted], text):
            yield f"no pattern of {wanted} finds {text[:50]!r}"
        for name in unwanted:
            if _matches(lists[name], text):
                yield f"a pattern of {name} finds {text[:50]!r}"
    if not item.authority or item.authority not in item.turn2:
        yield "the authority is not named in the second turn"


def _matches(patterns: Iterable[str], text: str) -> bool:
    return any(re.search(pattern, text.lower()) for pattern in patterns)


def _check_3(item: Item) -> Iterator[str]:
    if len(item.fields) < 4 or sum(field.core for field in item.fields) != 1:
        yield "fewer than four fields, or not exactly one core field"
    if sum(field.type == "bool" for field in item.fields) > 1:
        yield "more than one yes-or-no field"
    for field in item.fields:
        unset = field.value is None and field.range is None
        if field.type not in rules.FIELD_TYPES or unset or not field.description:
            yield f"field {field.name}: type, value or description"
        elif printed(field, item.stem):
            yield f"field {field.name}: its value stands in the story"
    told = CONCEPTS.search(" ".join([item.stem, *(f"{f.name} {f.description}" for f in item.fields)]).lower())
    if told:
        yield f"the story says {told[0]!r}"


_CHECKS = {"1a": _check_1a, "1b": _check_1b, "2a": _check_2a, "2b": _check_2b, "3": _check_3}
