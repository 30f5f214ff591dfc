"""The second ask: a reply that cannot be read is asked once more, for its form alone, in the same conversation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from metacog_pipeline.asking.types import Answer, CallOptions
from metacog_pipeline.benchmark.bound import Bound
from metacog_pipeline.benchmark.contract import Item
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.llm.types import ChatRequest, Completion, Message, Status
from metacog_pipeline.reading.calls import AGAIN, Call

# Never what is right, and no confidence where one was read: only what the first reply does not say is taken
# from the second.
WORDS = "Please give your answer in this form:\n"
#: Modes in which the provider itself holds a reply to its form: there is nothing to ask for.
_HELD = ("choice", "logit_bias")


# A step of its own, kept and paid like every other.
@dataclass(frozen=True, slots=True)
class Asked:
    """One call of an item as it was made."""

    messages: tuple[Message, ...]
    options: CallOptions
    answer: Answer


def wanted(
    benchmark: Bound, item: Item, condition: str, mode: str, asked: Mapping[str, Asked]
) -> Iterator[tuple[str, tuple[Message, ...], CallOptions]]:
    """Yield step, messages and options of each second ask that the replies of an item need."""
    if mode in _HELD or not benchmark.settings.reask_unreadable:
        return
    # Blanks take the place of an answer that is not given yet; a dry run writes as many as the answer may be long.
    given = {step: each for step, each in asked.items() if not each.answer.text.isspace()}
    if not given:
        return
    calls = {step: Call(each.answer.status, each.answer.text, mode) for step, each in given.items()}
    for step, form in tuple(benchmark.again(item, condition, calls)):
        first = given.get(step)
        if first is None or first.answer.status != Status.OK:
            continue
        options = first.options.copy()
        options.pop("constraint", None)
        yield step + AGAIN, _continued(first.messages, first.answer.text, f"{WORDS}{form}"), options


def _continued(messages: tuple[Message, ...], said: str, form: str) -> tuple[Message, ...]:
    if said:
        return (*messages, Message("assistant", said), Message("user", form))
    # many a provider refuses an empty turn of the model
    *before, last = messages
    return (*before, Message(last.role, f"{last.content}\n\n{form}"))


class Patient:
    """The simulated observer of a benchmark that gives the asked form when it is asked once more."""

    def __init__(self, benchmark: Bound, spec: ModelSpec) -> None:
        self._first: Any = benchmark.observer(spec.observer)
        self._again = benchmark.observer(spec.observer.model_copy(update={"untidiness": 0.0}))

    def knows(self, request: ChatRequest) -> bool:
        """Whether ``request`` is about an item of the benchmark."""
        return bool(self._first.knows(_first_of(request)))

    def __call__(self, request: ChatRequest) -> str | Completion:
        """Return the answer to ``request``."""
        again = request.step.endswith(AGAIN)
        return self._again(_first_of(request)) if again else self._first(request)


def _first_of(request: ChatRequest) -> ChatRequest:
    if not request.step.endswith(AGAIN):
        return request
    *before, last = request.messages
    asked, _, _ = last.content.rpartition(f"\n\n{WORDS}")
    messages = (*before, Message(last.role, asked)) if asked else before[:-1]
    return replace(request, step=request.step.removesuffix(AGAIN), messages=tuple(messages))
