"""How one item is asked: each step in a context of its own, so that no answer can lean on another.

Under a dual condition first for the answer, then, as if nothing had been said, whether it is known. Under ``idk`` once.

Replies are free text, as published. A model whose row says ``answer_mode = "choice"`` is held to the yes word and the no
word of the language in the meta step, where its server can do that. Token log-probabilities are asked for in the meta step,
as many alternatives as the row says, where the provider gives any: they tell how sure a yes is.
"""

from __future__ import annotations

from metacog_pipeline.benchmarks.selfknowledge.answer_words import YES_NO
from metacog_pipeline.benchmarks.selfknowledge.items import LANGUAGE_OF, Item
from metacog_pipeline.benchmarks.selfknowledge.prompts import DIRECT, META, Wording, condition_steps, messages
from metacog_pipeline.errors import StudyError
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import Constraint, OneOf
from metacog_pipeline.querying.types import Ask

MODES = ("text", "choice")
ANSWER_TOKENS = 32  # of a reply, as published, unless the row of the model says otherwise


def steps(mode: str) -> tuple[str, ...]:
    """Return the calls every item takes at least; raise `StudyError` for an unknown mode.

    Which calls an item takes under a condition says `prompts.condition_steps`.
    """
    if mode not in MODES:
        raise StudyError(f"selfknowledge: unknown answer mode {mode!r}; allowed are: {', '.join(MODES)}")
    return (DIRECT,)


def constraint(mode: str, condition: str, step: str) -> Constraint | None:
    """Return what a reply is held to: in mode ``choice`` the yes or the no word of a meta step, else nothing."""
    steps(mode)
    if mode == "text" or step != META:
        return None
    return OneOf(YES_NO[LANGUAGE_OF[condition]])


def answer_tokens(spec: ModelSpec) -> int:
    """Return how many tokens a reply may take: what the row of the model says, 32 where it says nothing."""
    return spec.max_tokens if "max_tokens" in spec.model_fields_set else ANSWER_TOKENS


async def ask_item(
    item: Item,
    condition: str,
    mode: str,
    ask: Ask,
    wording: Wording,
    spec: ModelSpec,
    *,
    send_temperature: bool = True,
) -> None:
    """Ask every step of ``item``; the answers are kept by ``ask``, nothing is returned.

    ``send_temperature=False`` leaves the decoding to what ships with the model. Raises `StudyError` for a wrong mode or
    condition, or an item without a question in the condition's language.
    """
    for step in condition_steps(condition):
        await ask(
            step,
            messages(item, condition, step, wording),
            constraint=constraint(mode, condition, step),
            max_tokens=answer_tokens(spec),
            top_logprobs=None if step == META else 0,
            send_temperature=send_temperature,
        )
