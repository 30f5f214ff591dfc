"""How one item is asked: one constrained object, two constrained choices, or plain text in two lines.

The ladder of modes is tried from the top by whoever opens a model; one mode is used for a whole run and recorded.
Choosing the letter first and the confidence after it, in the same context, is what all modes have in common.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from metacog_pipeline.benchmark.contract import Chat
from metacog_pipeline.benchmarks.metamedqa.items import LETTERS, Item
from metacog_pipeline.benchmarks.metamedqa.prompts import Wording, user_message
from metacog_pipeline.benchmarks.metamedqa.read import read_reply
from metacog_pipeline.errors import StudyError
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import Constraint, JsonObject, Message, OneOf, Status, TokenBias

MODES = ("json_schema", "choice", "logit_bias", "text")
RATINGS = ("1", "2", "3", "4", "5")
ADMIT = 100  # the largest logit_bias providers accept
_PROPERTIES = {
    "answer": {"type": "string", "enum": list(LETTERS)},
    "confidence": {"type": "integer", "enum": [1, 2, 3, 4, 5]},
}
ANSWER_OBJECT = JsonObject(
    name="answer_with_confidence",
    schema_json=json.dumps(
        {
            "type": "object",
            "properties": _PROPERTIES,
            "required": ["answer", "confidence"],
            "additionalProperties": False,
        }
    ),
)


def steps(mode: str) -> tuple[str, ...]:
    """Return the names of the calls one item takes in ``mode``; raise `StudyError` for an unknown mode."""
    if mode not in MODES:
        raise StudyError(f"metamedqa: unknown answer mode {mode!r}; allowed are: {', '.join(MODES)}")
    return ("choice", "confidence") if mode in ("choice", "logit_bias") else ("answer",)


def first_messages(item: Item, condition: str, wording: Wording) -> tuple[Message, ...]:
    """Return the messages of an item's first call; raise `StudyError` for a condition without words."""
    system = wording.system_message(condition)
    user = Message("user", user_message(item, wording))
    return (user,) if system is None else (Message("system", system), user)


def confidence_messages(first: Sequence[Message], letter: str, wording: Wording) -> tuple[Message, ...]:
    """Return the messages of the second call: the first ones, the model's own answer, the request for a digit."""
    return (*first, Message("assistant", f"Answer: {letter}"), Message("user", wording.confidence_request))


def constraint(mode: str, step: str, spec: ModelSpec) -> Constraint | None:
    """Return what the answer to ``step`` is held to in ``mode``.

    Raises `StudyError` when ``logit_bias`` is asked of a model whose ``token_ids`` do not cover the options.
    """
    if step not in steps(mode):
        raise StudyError(f"metamedqa: answer mode {mode!r} has no step {step!r}")
    options = RATINGS if step == "confidence" else LETTERS
    match mode:
        case "json_schema":
            return ANSWER_OBJECT
        case "choice":
            return OneOf(tuple(options))
        case "logit_bias":
            return _token_bias(options, spec)
        case _:
            return None


async def ask_item(item: Item, condition: str, chat: Chat, wording: Wording) -> None:
    """Ask every step of ``item``; the confidence is not asked after a first answer without a readable letter."""
    first_step, *later = steps(chat.mode)
    messages = first_messages(item, condition, wording)
    one_token = 1 if chat.mode == "logit_bias" else None
    held_to = constraint(chat.mode, first_step, chat.spec)
    answer = await chat(first_step, messages, constraint=held_to, max_tokens=one_token)
    # One token is all that is asked for with a bias, so being stopped by the length limit is how it ends.
    whole = (Status.OK, Status.TRUNCATED) if one_token else (Status.OK,)
    if not later or answer.status not in whole:
        return
    letter = read_reply(answer.text, item.options)["answer"]
    if letter.status == "ok":
        again = confidence_messages(messages, letter.value, wording)
        held_to = constraint(chat.mode, later[0], chat.spec)
        await chat(later[0], again, constraint=held_to, max_tokens=one_token)


def _token_bias(options: Sequence[str], spec: ModelSpec) -> TokenBias:
    missing = [option for option in options if not spec.token_ids.get(option)]
    if missing:
        raise StudyError(
            f"models.{spec.name}: answer_mode logit_bias needs token_ids for {', '.join(missing)}; "
            "give the ids of the bare and the leading-space form"
        )
    ids = sorted({token for option in options for token in spec.token_ids[option]})
    return TokenBias(tuple((token, ADMIT) for token in ids))
