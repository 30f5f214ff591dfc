"""A study against a server that answers in twenty odd forms: after the second ask next to nothing is left unread."""

import json
import re
from dataclasses import replace

import polars as pl
import pytest

from metacog_pipeline.asking import construction, tasks
from metacog_pipeline.asking.second_ask import WORDS, Patient
from metacog_pipeline.benchmark.bound import enabled
from metacog_pipeline.files import sha256_hex
from metacog_pipeline.llm.types import ChatRequest, Completion
from metacog_pipeline.reading.calls import AGAIN
from metacog_pipeline.scoring import files
from metacog_pipeline.study import load_study
from tests.asking_in_process import ask
from tests.simulated_server import ServerThread
from tests.studies import write_study

pytestmark = (
    pytest.mark.proof
)  # what is read of each form: `tests/reading`; the second ask: `test_second_ask.py`

ASKED = {
    "metamedqa": {"dataset": "sample", "conditions": ["baseline"], "limit": 60},
    "signaldetection": {"dataset": "sample", "trials": 60},
    "questions": {"items": ["sample"], "conditions": ["verbal_percent", "answer_only"]},
    "selfknowledge": {"limit": 60},
}
IN_OTHER_WORDS = {
    "es": {"answer": "Respuesta", "confidence": "Confianza", "decision": "Decisión"},
    "de": {"answer": "Antwort", "confidence": "Konfidenz", "decision": "Entscheidung"},
    "zh": {"answer": "答案", "confidence": "置信度", "decision": "决定"},
}
MOST_UNREAD = 0.02


def translated(pairs, language):
    words = IN_OTHER_WORDS[language]
    return "\n".join(f"{words.get(name.lower(), name)}: {value}" for name, value in pairs)


def spoken(pairs):
    """Say a record in a sentence; a bare value stands by itself."""
    return " ".join(
        f"{'My' if n else 'The'} {name.lower()} is {value}." for n, (name, value) in enumerate(pairs)
    )


#: What a model makes of the lines it is asked for, ``(name, value)`` each. The last two say nothing.
FORMS = (
    lambda pairs: "\n".join(f"**{name}:** {value}" for name, value in pairs),
    lambda pairs: "\n".join(f"- {name}: {value}" for name, value in pairs),
    lambda pairs: "\n".join(f"{n}. {name}: **{value}**" for n, (name, value) in enumerate(pairs, 1)),
    lambda pairs: "\n".join(f"{name.upper()} = {value}" for name, value in pairs),
    lambda pairs: "\n\n".join(f"### {name}\n{value}" for name, value in pairs),
    lambda pairs: "".join(f"<{name.lower()}>{value}</{name.lower()}>" for name, value in pairs),
    lambda pairs: json.dumps({name.lower(): value for name, value in pairs}),
    lambda pairs: f"```json\n{json.dumps(dict(pairs), indent=2)}\n```",
    lambda pairs: "{" + ", ".join(f"'{name.lower()}': '{value}'" for name, value in pairs) + "}",
    lambda pairs: "Sure! Here is what you asked for.\n\n" + "\n".join(f"{n}: {v}" for n, v in pairs) + "\n\nAsk me more!",
    lambda pairs: f"|{'|'.join(n for n, _ in pairs)}|\n|{'---|' * len(pairs)}\n|{'|'.join(v for _, v in pairs)}|",
    lambda pairs: "<think>Could be anything. Let me see.</think>\n" + "\n".join(f"{n}: {v}" for n, v in pairs),
    lambda pairs: translated(pairs, "es"),
    lambda pairs: translated(pairs, "de"),
    lambda pairs: translated(pairs, "zh"),
    lambda pairs: "\n".join(f"{n}: {v}" for n, v in pairs) + "<|im_end|>\n<|im_start|>user\nAnother one, please.",
    lambda pairs: "\n".join(f"{n}: {v}" for n, v in pairs) + "\n\nQuestion: And what is next?\nAnswer: nothing",
    spoken,
    lambda pairs: "Let me think about this for a while.",
    lambda pairs: "...",
)  # fmt: skip


def pairs_of(text):
    """Return the lines of a reply as names and values; a reply of one value is the answer."""
    try:
        found = json.loads(text)
    except ValueError:
        found = dict(re.findall(r"^(\w+): *(.+)$", text, re.MULTILINE)) or {"Answer": text}
    return [(str(name), str(value)) for name, value in found.items()]


class OddModel:
    """Answers as the observers of a study do, each reply in a form drawn by what was asked."""

    def __init__(self, study):
        self.patients = [Patient(each, study.models[0]) for each in enabled(study)]

    def __call__(self, model: str, request: ChatRequest):
        words = request.messages[-1].content
        again = words.rpartition("\n\n")[2].startswith(WORDS.strip()) or words.startswith(WORDS)
        known = replace(request, step=AGAIN if again else request.step)
        found = next(each for each in self.patients if each.knows(known))(known)
        text = found.text if isinstance(found, Completion) else found
        seed = sha256_hex(json.dumps([each.content for each in request.messages]))
        said = FORMS[int(seed[:8], 16) % len(FORMS)](pairs_of(text))
        return replace(found, text=said, logprobs=()) if isinstance(found, Completion) else said


@pytest.fixture(scope="module")
def responses(tmp_path_factory):
    folder = tmp_path_factory.mktemp("odd")
    twin = made(folder / "twin", {"provider": "simulated"})
    with ServerThread(OddModel(twin)) as server:
        row = {"provider": "openai", "model": "odd", "base_url": f"{server.url}/v1", "answer_mode": "text"}
        study = made(folder / "study", row)
        frames = []
        for each in enabled(study):
            for partition in tasks.partitions(each):
                ask(each, partition)
                frames.append(files.read(each, partition))
    return pl.concat(frames, how="diagonal_relaxed")


def made(folder, row):
    study = load_study(write_study(folder, {"name": "odd", **row}, benchmarks=ASKED))
    study.prepare()
    for each in enabled(study):
        construction.build(each)
    return study


def test_after_the_second_ask_next_to_nothing_is_unread(responses):
    unread = responses.group_by("benchmark").agg(
        n=pl.len(), unread=(pl.col("status") != "ok").mean(), again=pl.col("asked_again").mean()
    )
    assert unread["n"].min() >= 20 and unread["again"].min() > 0.02
    assert (responses["status"] != "ok").mean() <= MOST_UNREAD, unread
