"""What a model thinks aloud between tags before it replies is not the reply."""

from __future__ import annotations

import re

_TAG = re.compile(r"<(/?)(?:think|thinking|thought|reasoning)\b[^<>]{0,80}+>", re.IGNORECASE)


def without_thinking(text: str) -> str:
    """Return ``text`` without what stands between thinking tags; a tag that is not closed hides all after it.

    A closing tag without an opening one, which some servers leave in the prompt, hides all before it. What remains on
    either side of a thought is joined by a line break. Linear in the length of the text.
    """
    if "<" not in text:
        return text
    kept: list[str] = []
    depth = place = 0
    for tag in _TAG.finditer(text):
        if depth == 0:
            kept.append(text[place : tag.start()])
        if tag[1]:
            if depth == 0:
                kept.clear()
            depth = max(depth - 1, 0)
        else:
            depth += 1
        place = tag.end()
    if depth == 0:
        kept.append(text[place:])
    return "\n".join(kept)
