"""Texts that no model means, and how long the readers take over them: ``python -m tests.hostile [READER ...] [--most MS]``.

Every reading above the bound (30 ms of processor time, best of three) is a line; the last line is the slowest.
"""

import json
import re
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from metacog_pipeline.benchmark.answers import stated
from metacog_pipeline.benchmark.answers.abstaining import _could_answer
from metacog_pipeline.benchmark.answers.clauses import subordinate
from metacog_pipeline.benchmark.answers.reading import AnswerKey
from metacog_pipeline.benchmark.answers.word_answers import _of_before, _with_places
from metacog_pipeline.benchmark.contract import Call
from metacog_pipeline.benchmarks.medley.parsing import parse_judgement, parse_reply
from metacog_pipeline.benchmarks.metacogbench.lexicon import shipped_lexicon
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.claims import content
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.declining import _kind, about_the_matter
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.giving_in import _stem
from metacog_pipeline.benchmarks.metacogbench.lexicon_scorers.scope import _last_clause, _says
from metacog_pipeline.benchmarks.metacogbench.parsing import json_objects
from metacog_pipeline.benchmarks.metacogbench.parsing import response as metacogbench
from metacog_pipeline.benchmarks.metacogbench.prompts import PROBE, item_steps
from metacog_pipeline.benchmarks.metacogbench.replies import read_row
from metacog_pipeline.benchmarks.selfknowledge import response as selfknowledge
from metacog_pipeline.benchmarks.selfknowledge.prompts import condition_steps
from metacog_pipeline.benchmarks.selfknowledge.read import _facts as facts
from tests import batches

SIZES = (1_000, 5_000, 9_900, 15_900, 28_000, 100_000, 1_000_000, 10_000_000)
UNITS = {
    "round brackets": "(",
    "closing brackets": ")",
    "square brackets": "[",
    "braces": "{",
    "pairs": "()[]{}<>",
    "angles": "<",
    "CJK brackets": "（【「",
    "one letter": "a",
    "spaces": " ",
    "lines": "\n",
    "CRLF": "\r\n",
    "tabs": "\t",
    "NULs": "\x00",
    "NUL words": "a\x00 ",
    "zero-width": "a\u200b\u200d",
    "combining": "e\u0301\u0323\u0300",
    "only marks": "\u0301",
    "RTL": "שלום עולם ٣ ",
    "RTL marks": "\u202e\u202bא",
    "emoji": "👍🏽👩‍👩‍👧 ",
    "surrogates": "\ud800",
    "full-width": "ａ９：",
    "CJK": "我不知道。",
    "Hangul": "모르겠습니다. ",
    "mixed scripts": "аa他é한ñ ",
    "numbers": "7 ",
    "long number": "7",
    "thousands": "1,234,567.89 ",
    "dotted": "1.",
    "groups": "1,",
    "fractions": "3/4 ",
    "powers": "10^9 ",
    "percents": "55% ",
    "number words": "one hundred and ",
    "CJK numbers": "一百零",
    "ranges": "5-7 ",
    "signs": "+-",
    "equations": "= 5 + ",
    "units": "5 km/h ",
    "dates": "2010-01-05 ",
    "answers": "Answer: 7\n",
    "upper answers": "ANSWER: A ",
    "bets": "BET: 5 ",
    "confidences": "PRE_CONFIDENCE: 50\nPOST_CONFIDENCE: 60\n",
    "letters": "A) b ",
    "choices": "option B or C, ",
    "JSON": '{"answer": 3}',
    "open JSON": '{"a":',
    "JSON lists": "[[",
    "JSON texts": '"a", ',
    "decisions": '{"decision": "1"} ',
    "thinking": "<think>",
    "end of thinking": "</think>",
    "spaced tags": "< think",
    "fences": "```\n",
    "JSON fences": "```json\n{",
    "stars": "*",
    "bold": "**a** ",
    "open bold": "**a ",
    "underscores": "_a",
    "struck": "~~a",
    "headings": "# a\n",
    "quotes of lines": "> a\n",
    "deep quotes": ">",
    "bullets": "- a\n",
    "table": "| a | b |\n",
    "open table": "|",
    "rules": "---\n",
    "dollars": "$x$",
    "boxes": "\\boxed{",
    "closed boxes": "\\boxed{7} ",
    "frac": "\\frac{a}{",
    "text": "\\text{",
    "backslash": "\\",
    "HTML": "<b>a</b>",
    "entities": "&lt;",
    "cells": "<td>a",
    "double quotes": '"',
    "single quotes": "'",
    "nested": "\"'“",
    "quoted words": '"a b c" ',
    "apostrophes": "don't ",
    "one-word clauses": "no, ",
    "one-word sentences": "No. ",
    "yes": "Yes. ",
    "yes and no": "yes no ",
    "questions": "why? ",
    "stops": ". ",
    "dots": "...",
    "colons": "a: b; ",
    "buts": "but ",
    "agreement": "you're right, ",
    "agrees": "I agree. ",
    "agreed so": "agreed so i concede that you are right and ",
    "near misses": "I would not not not ",
    "i would": "i would ",
    "negations": "not ",
    "no no": "no ",
    "denials": "it is not the case that ",
    "hedges": "may not be the risk if ",
    "risks": "risk ",
    "however": "however, ",
    "howevers": "However, I maintain my position. ",
    "claims": "the data do not show that i was wrong but ",
    "declines": "I can't help with that. ",
    "sorry": "I'm sorry, but ",
    "unknown": "I don't know ",
    "unknowns": "i do not know. ",
    "not sure": "i am not sure who ",
    "unless": "unless if whether ",
    "supposes": "if i were you i would say that if ",
    "because": "because since as given ",
    "would": "would could might ",
    "goes too far": "to say that goes too far, ",
    "everyone": "it helps everyone. ",
    "corrections": "wait, no, actually ",
    "so": "so ",
    "therefore": "therefore the answer is ",
    "finals": "final answer: ",
    "alternatives": "Ottawa or Toronto ",
    "long words": "a" * 99 + " ",
    "prose": "The train covers the way in three hours, so that the mean speed is lower than you say. ",
    "confidence": "confidence: 3 ",
    "certain": "certain: yes ",
    "depends": "it depends on the load, and ",
    "a b": "a b ",
}


def texts(sizes: tuple[int, ...] = SIZES) -> Iterator[tuple[str, int, str]]:
    """Yield a name, a size and a text."""
    for name, unit in UNITS.items():
        for size in sizes:
            yield name, size, (unit * (size // len(unit) + 1))[:size]
    for size in sizes:
        yield "many numbers", size, " ".join(map(str, range(size)))[:size]
        yield "all units", size, (" ".join(UNITS.values()) * (size // 1_000 + 1))[:size]
        yield "cues in turn", size, (" ".join(_cue_words()) * (size // 5_000 + 1))[:size]
        yield "deep JSON", size, '{"a":' * (size // 12) + "1" + "}" * (size // 12)
        yield "JSON of a text", size, json.dumps({"answer": "word " * (size // 5)})
        yield "after thinking", size, f"<think>{'hm ' * (size // 3)}</think>Answer: 7"
        yield "open thinking", size, "Answer: 7 <think>" + "hm " * (size // 3)
        yield "open fence", size, "```json\n" + "you're right. " * (size // 14)


def _cue_words() -> list[str]:
    cues = [cue.regex.pattern for section in shipped_lexicon().cues.values() for cue in section]
    return sorted({word for cue in cues for word in re.findall(r"(?<!\\)[a-z']{3,}", cue)})


def _metacogbench(name: str) -> Callable[[str], object]:
    item = batches.ITEMS[name]

    def read(text: str) -> object:
        steps = item_steps(item, "free")
        calls = {step: Call("ok", "A" if step == PROBE else text) for step in steps}
        return metacogbench.parse(item, "free", calls)

    return read


def _as_asked(name: str) -> Callable[[str], object]:
    """Read as ``metacog read metacogbench`` does, which may call a reply unparsable."""
    steps = [step for step in item_steps(batches.ITEMS[name], "free") if step != PROBE]
    return lambda text: read_row({"item_id": name, "responses": dict.fromkeys(steps, text) | {PROBE: "A"}})


def _facts(condition: str) -> Callable[[str], object]:
    item = facts()["geography-001"]

    def read(text: str) -> object:
        calls = {step: Call("ok", text) for step in condition_steps(condition)}
        return selfknowledge.read(item, condition, calls, rule="entities", yes_no="default", wording=None)

    return read


def _stated(*key: object, **more: object) -> Callable[[str], object]:
    made = AnswerKey(*key, **more)  # type: ignore[arg-type]
    return lambda text: stated.answer_of(text, made)


OPTIONS = ("22q11 deletion", "Deletion of genes on chromosome 7", "Lithium", "Alcohol")
METACOGBENCH = """
bet.ramp.1.2x2 bet.private.1 predict.melting predict.capital predict.syllogism eco.nodes hold.train hold.warranty
stance.pooled transfer.spanning_tree
"""
READERS: dict[str, Callable[[str], object]] = {
    **{name: _metacogbench(name) for name in METACOGBENCH.split()},
    **{f"facts {name}": _facts(name) for name in ("dual", "idk", "idk_zh", "idk_ko", "idk_es")},
    **{f"read {name}": _as_asked(name) for name in ("hold.warranty", "eco.nodes")},
    "medley": parse_reply,
    "medley judge": parse_judgement,
    "questions number": _stated("number", (5,), question="How many km?"),
    "questions text": _stated("text", ("Ottawa",), question="What is the capital of Canada?"),
    "questions choice": _stated("choice", ("B",), question="Which? A) one B) two C) three"),
}


# What readers keep of the texts they saw last.
KEPT: list[Any] = [
    _stem, about_the_matter, _kind, _last_clause, _says, content, _could_answer, _with_places, _of_before, subordinate,
    json_objects.objects,
]  # fmt: skip


def took(read: Callable[[str], object], text: str, most: float) -> float:
    """Return the processor time of one reading in milliseconds: the best of three where the first is above the bound."""
    best = float("inf")
    for _ in range(3):
        for each in KEPT:
            each.cache_clear()
        before = time.process_time()
        read(text)
        best = min(best, (time.process_time() - before) * 1_000)
        if best <= most:
            break
    return best


def main(words: list[str]) -> None:
    most = float(words[words.index("--most") + 1]) if "--most" in words else 30.0
    largest = int(words[words.index("--size") + 1]) if "--size" in words else max(SIZES)
    wanted = [word for word in words if word in READERS] or list(READERS)
    slow: dict[str, list[float]] = {name: [] for name in wanted}
    for name in wanted:
        for _ in range(4):
            READERS[name]("The train covers it. " * 480)  # data is loaded, regexes are taken apart
    count = 0
    for kind, size, text in texts(tuple(size for size in SIZES if size <= largest)):
        for name in wanted:
            count += 1
            if (spent := took(READERS[name], text, most)) > most:
                slow[name].append(spent)
                print(f"{name:24} {kind:20} {size:10,} {spent:8.0f} ms", flush=True)
    for name, found in slow.items():
        print(f"{name:24} {len(found):4} above {most:g} ms, slowest {max(found, default=0):.0f} ms")
    print(f"{count} readings")


if __name__ == "__main__":
    main(sys.argv[1:])
