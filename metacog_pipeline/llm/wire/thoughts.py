"""Thinking that a local server leaves in the content or in the log-probabilities, before the answer.

The content stays exactly what came, for a reply is kept as it is and the readers of answers know such tags; the thought is
shown beside it, so that it is known that the model thinks.
"""

from __future__ import annotations

import re
from itertools import accumulate

from metacog_pipeline.llm.types import TokenLogprob

_OPENED = re.compile(r"\s*<(think|thinking|thought|reasoning)>", re.IGNORECASE)
_CLOSED = re.compile(r"</(?:think|thinking|thought|reasoning)>", re.IGNORECASE)


def leading_thought(text: str) -> str | None:
    """Return the thought that ``text`` begins with: between tags, or before the end of one that the prompt began."""
    if "<" not in text:
        return None
    opened, closed = _OPENED.match(text), _CLOSED.search(text)
    if opened is None and (closed is None or _nested(text, closed)):
        return None
    start = opened.end() if opened is not None else 0
    thought = text[start : closed.start() if closed is not None else len(text)].strip()
    return thought or None


def _nested(text: str, closed: re.Match[str]) -> bool:
    """Whether the tag that ``closed`` ends was opened somewhere in the text: then the text began with an answer."""
    return f"<{closed[0][2:]}".lower() in text[: closed.start()].lower()


def tokens_of_answer(tokens: tuple[TokenLogprob, ...], text: str) -> tuple[TokenLogprob, ...]:
    """Return the tokens of the answer ``text`` where ``tokens`` begin with those of the thinking before it (vLLM).

    Empty where nobody can tell where the answer begins: a probability must not be read off a thought.
    """
    said, words = text.strip(), [token.token for token in tokens]
    if not said:
        return ()
    reply, ends = "".join(words), list(accumulate(map(len, words)))
    for place in reversed(range(len(words))):
        begins = words[place].lstrip()
        if begins and reply.startswith(said, ends[place] - len(begins)):
            return tokens[place:]
    if reply.strip() in said:  # listed for a part of the answer
        return tokens
    # Tokens that end inside a character do not spell the answer; the tag before it stands all the same.
    closed = [place for place, word in enumerate(words) if _CLOSED.fullmatch(word.strip())]
    return tokens[closed[-1] + 1 :] if closed else ()
