"""What a reply was billed for is counted whole: zeros that cannot be are no count, and a total tells what parts hide."""

from typing import Any

from metacog_pipeline.llm import costs
from metacog_pipeline.llm.types import Usage
from tests.llm.replies import CHAT, GENERATED, changed, read
from tests.tables import every

NOT_COUNTED = Usage()


def of_chat(sent: Any, got: Any, total: Any = None, text: str | None = "B", **details: Any) -> Usage:
    usage = {"prompt_tokens": sent, "completion_tokens": got, "total_tokens": total, **details}
    body = changed(CHAT, "choices", 0, "message", to={"role": "assistant", "content": text})
    return read("openai", {**body, "usage": usage}).usage


def of_gemini(text: str = "B", **counts: int) -> Usage:
    body = changed(GENERATED, "candidates", 0, "content", "parts", to=[{"text": text}])
    return read("gemini", changed(body, "usageMetadata", to=counts)).usage


@every(
    ("usage", "said", "kept"),
    [
        (Usage(0, 0), True, NOT_COUNTED),
        (Usage(0, 0), False, NOT_COUNTED),
        (Usage(0, None), True, NOT_COUNTED),
        (Usage(None, 0), True, NOT_COUNTED),
        (Usage(0, 7), True, Usage(None, 7)),
        (Usage(0, 7, 3, 5, 2), True, Usage(None, 7, 3)),
        (Usage(9, 0), True, Usage(9, None)),
        (Usage(9, 0, 0, 4), True, Usage(9, None, None, 4)),
        (Usage(9, 0), False, Usage(9, 0)),
        (Usage(9, 0, 0), False, Usage(9, 0, 0)),
        (Usage(9, 7, 0, 0, 0), True, Usage(9, 7, 0, 0, 0)),
        (Usage(9, None), True, Usage(9, None)),
        (Usage(1, 1), True, Usage(1, 1)),
    ],
)
def test_a_zero_is_believed_only_where_there_can_be_nothing(usage, said, kept):
    assert costs.believed(usage, said=said) == kept


def test_an_empty_answer_may_have_no_output_and_a_thought_may_not():
    assert of_chat(9, 0, 9, text="") == Usage(9, 0)
    assert of_chat(9, 0, 9, text=None) == Usage(9, 0)
    assert of_chat(9, 0, 9, text="B") == Usage(9, None)
    assert of_chat(9, 0, 9, text="<think>hm</think>").output_tokens is None
    assert of_gemini("", promptTokenCount=9, candidatesTokenCount=0) == Usage(9, 0)
    assert of_gemini("B", promptTokenCount=9, candidatesTokenCount=0) == Usage(9, None)


@every(
    ("counts", "output", "thought"),
    [
        ((100, 11, 1611), 1511, 1500),
        ((100, 11, 112), 12, 1),
        ((100, 11, 111), 11, None),
        ((100, 11, 50), 11, None),  # a total that is less than its parts tells nothing
        ((100, 11, None), 11, None),
        ((100, 11, "1611"), 11, None),
        ((100, 11, -1), 11, None),
        ((None, 11, 1611), 11, None),
        ((100, None, 1611), None, None),
        ((100, 0, 1600), 1500, 1500),
    ],
)
def test_what_a_total_holds_beside_its_parts_was_thought(counts, output, thought):
    usage = of_chat(*counts)
    assert (usage.output_tokens, usage.reasoning_tokens) == (output, thought)


@every(
    ("counts", "reasoning", "output", "thought"),
    [
        ((100, 10, 150), 40, 50, 40),
        ((100, 10, 160), 40, 60, 50),
        ((100, 60, 160), 40, 60, 40),
        ((100, 60, 200), 40, 100, 40),  # the total says that it is beside
        ((100, 10, 111), 40, 50, 40),
        ((100, 10, 110), 0, 10, 0),
        ((100, 10, 110), 10, 10, 10),
    ],
)
def test_a_total_and_the_reasoning_that_is_named_are_not_counted_twice(counts, reasoning, output, thought):
    usage = of_chat(*counts, completion_tokens_details={"reasoning_tokens": reasoning})
    assert (usage.output_tokens, usage.reasoning_tokens) == (output, thought)


def test_what_a_cache_held_beside_the_prompt_is_input():
    details = {"cached_tokens": 5000, "cache_write_tokens": 300}
    assert of_chat(100, 11, 5411, prompt_tokens_details=details) == Usage(5400, 11, None, 5000, 300)
    assert of_chat(5400, 11, 5411, prompt_tokens_details=details) == Usage(5400, 11, None, 5000, 300)
    assert of_chat(5400, 11, 6911, prompt_tokens_details=details) == Usage(5400, 1511, 1500, 5000, 300)


@every(
    ("counts", "usage"),
    [
        ({"candidatesTokenCount": 11, "totalTokenCount": 1611}, Usage(100, 1511, 1500)),
        ({"candidatesTokenCount": 11, "thoughtsTokenCount": 1500, "totalTokenCount": 1611}, Usage(100, 1511, 1500)),
        ({"candidatesTokenCount": 11, "thoughtsTokenCount": 500, "totalTokenCount": 1611}, Usage(100, 1511, 1500)),
        ({"candidatesTokenCount": 11, "totalTokenCount": 111}, Usage(100, 11)),
        ({"candidatesTokenCount": 11, "totalTokenCount": 11}, Usage(100, 11)),
        ({"candidatesTokenCount": 11}, Usage(100, 11)),
        ({"totalTokenCount": 1600}, Usage(100)),
        ({"candidatesTokenCount": 11, "toolUsePromptTokenCount": 700, "totalTokenCount": 811}, Usage(100, 11)),
        ({"candidatesTokenCount": 11, "toolUsePromptTokenCount": 700, "totalTokenCount": 911}, Usage(100, 111, 100)),
        ({"candidatesTokenCount": 11, "cachedContentTokenCount": 60, "totalTokenCount": 111}, Usage(100, 11, None, 60)),
    ],
)  # fmt: skip
def test_geminis_total_tells_what_was_thought(counts, usage):
    assert of_gemini(promptTokenCount=100, **counts) == usage
