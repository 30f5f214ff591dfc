"""What a model thinks aloud between marks before it replies is not the reply."""

from __future__ import annotations

import re

# Marks of thinking as models write them where no server takes them off: tags; Magistral's and Kimi's brackets; Cohere's
# and other special tokens; MedGemma's unused tokens. A mark that ends thinking has a slash, or says so.
_MARK = re.compile(
    r"<\s{0,3}(?P<tag>/?)\s{0,3}(?:think|thinking|thought|reasoning|seed:think)\b[^<>]{0,80}+>"
    r"|(?P<bracket>\[/?)THINK\]|◁(?P<triangle>/?)think▷"
    r"|<\|(?P<token>(?:START|END|begin_of|end_of)_(?:THINKING|thought))\|>"
    r"|<unused(?P<unused>9[45])>(?:thought\b)?",
    re.IGNORECASE,
)
_MARKS_BEGIN = ("<", "[", "◁")
# gpt-oss names the channel of each message: what is on "final" is the reply, "analysis" and "commentary" are not.
_CHANNEL = re.compile(
    r"(?:<\|start\|>[\w.:= ]{0,60}+)?<\|channel\|>\s{0,3}(\w{1,20})[^<>]{0,80}+<\|message\|>", re.IGNORECASE
)
_MESSAGE_ENDS = re.compile(r"<\|(?:end|return|call|start)\|>", re.IGNORECASE)
_FINAL = "final"


def without_thinking(text: str) -> str:
    """Return ``text`` without what stands between marks of thinking; a mark that is not closed hides all after it.

    The next mark that ends thinking ends it, whatever was opened meanwhile: thoughts mention such marks. One that ends
    what was not begun, which some servers leave in the prompt, hides all before it. What remains on either side of a
    thought is joined by a line break. Linear in the length of the text.
    """
    text = final_channel(text)
    if not any(each in text for each in _MARKS_BEGIN):
        return text
    kept: list[str] = []
    place, inside = 0, False
    for mark in _MARK.finditer(text):
        if _ends(mark):
            if not inside:
                kept.clear()
            inside, place = False, mark.end()
        elif not inside:
            kept.append(text[place : mark.start()])
            inside = True
    if not inside:
        kept.append(text[place:])
    return "\n".join(kept)


def final_channel(text: str) -> str:
    """Return the messages on the final channel of a reply in gpt-oss's form; other replies as they are."""
    if "<|channel|>" not in text:
        return text
    messages = [*_CHANNEL.finditer(text)]
    if not messages:
        return text
    ends = [*(each.start() for each in messages[1:]), len(text)]
    return "\n".join(
        _MESSAGE_ENDS.split(text[each.end() : end], maxsplit=1)[0]
        for each, end in zip(messages, ends, strict=True)
        if each[1].lower() == _FINAL
    )


def _ends(mark: re.Match[str]) -> bool:
    if token := mark["token"]:
        return token.upper().startswith("END")
    if unused := mark["unused"]:
        return unused == "95"
    return "/" in (mark["tag"] or mark["bracket"] or mark["triangle"] or "")
