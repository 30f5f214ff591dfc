"""A reply before anybody reads it: how the call ended, and the model's own turn without its thinking."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

CallStatus = Literal["ok", "truncated", "refused", "failed"]

# Marks of thinking as models write them where no server takes them off: tags; Magistral's and Kimi's brackets; Cohere's
# and other special tokens; MedGemma's unused tokens. A mark that ends thinking has a slash, or says so.
_MARK = re.compile(
    r"(?i)<\s{0,3}/?\s{0,3}(?:think|thinking|thought|reasoning|scratchpad|seed:think)\b[^<>]{0,80}+>"
    r"|\[/?THINK\]|◁/?think▷"
    r"|<\|(?:START|END|begin_of|end_of)_(?:THINKING|thought)\|>"
    r"|<unused9[45]>(?:thought\b)?"
)
_ENDS = re.compile(r"(?i)<\s{0,3}/|\[/|◁/|<\|end|<unused95")
# gpt-oss names the channel of each message: what is on "final" is the reply, "analysis" and "commentary" are not.
_CHANNEL = re.compile(
    r"(?i)(?:<\|start\|>[\w.:= ]{0,60}+)?<\|channel\|>\s{0,3}(\w{1,20})[^<>]{0,80}+<\|message\|>"
)
# End-of-turn and start-of-turn tokens of the model families.
_TOKENS = re.compile(
    r"<\|(?:im_end|im_start|eot_id|eom_id|end|endoftext|end_of_text|start_header_id|end_header_id|user|assistant|system|return|call|start|"
    r"end_of_turn|START_OF_TURN_TOKEN|END_OF_TURN_TOKEN)\|>"
    r"|</?s>|<end_of_turn>|<start_of_turn>|<eos>|<｜(?:end▁of▁sentence|User|Assistant|begin▁of▁sentence)｜>"
    r"|\[/?INST\]|\[e~\[|<extra_id_\d>"
)
# Tokens before the first word open the turn, and so does a prompt that is repeated in its marks.
_OPENING = re.compile(
    rf"(?:\s*+(?:\[INST\][^\[\]]{{0,4000}}\[/INST\]|{_TOKENS.pattern})(?:\s{{0,4}}(?:assistant|model)\b)?)*+"
)
# A line that begins the turn of somebody else.
_SPEAKER = re.compile(
    r"(?mi)^[ \t]{0,8}(?:#{1,4}[ \t]{0,4}|\*\*)?(?:[A-Z]{1,4}[ \t]{1,4})?"
    r"(?:Human|User|Instruction|Question|Sentence|Statement|Text|Input|Q|问题|Pregunta|질문|Frage)"
    r"(?:[ \t]{1,4}\d{1,4})?(?:\*\*)?[ \t]{0,4}[:：]"
)
_ANSWERED = re.compile(
    r"(?im)answer|confidence|decision|antwort|respuesta|réponse|答案|정답|[{\[]|^\W{0,8}\w{1,2}\W{0,8}$"
)
# characters at either end of a reply that are looked at: a longer one is no answer
LONGEST_END = 100_000
# characters of a turn, its last: no answer comes before so many
MOST_READ = 32_000
# lines that may begin another's turn and are looked at
MOST_SPEAKERS = 50
# characters of a reply before the next speaker that are an answer in any wording
_SHORT = 60
_CUT = "\n…\n"

# Letters, digits, quotes and signs of other widths become their plain forms. One character stays one character, so that a
# place in the text is a place in the reply.
_PLAIN = {
    **{ord(a): b for a, b in zip("“”„‟«»‘’‚‛′`´", "\"\"\"\"\"\"''''\'''", strict=True)},
    **{ord(a): b for a, b in zip("−‐‑‒–—―", "-" * 7, strict=True)},
    **{ord(a): b for a, b in zip("。、×⁄∶", ".,x/:", strict=True)},
    **{ord(a): " " for a in "\u00a0\u202f\u2009\u3000"},
    # full widths; circled digits and letters
    **{
        code: unicodedata.normalize("NFKC", chr(code))
        for code in (*range(0xFF01, 0xFF5F), *range(0x2460, 0x2469), *range(0x24B6, 0x24EA))
    },
    **dict.fromkeys((0, 0xFEFF, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0xD800, 0xE000)), " "),
    # Arabic, Persian, Devanagari
    **{start + n: str(n) for start in (0x660, 0x6F0, 0x966) for n in range(10)},
    **dict.fromkeys(map(ord, "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"), "\n"),
}  # fmt: skip


def plain(text: str) -> str:
    """Return ``text`` with plain widths, quotes, dashes and line ends; as long as it was."""
    usual = text.isascii() and "\0" not in text and "\r" not in text and "`" not in text
    return text if usual else text.translate(_PLAIN)


_LATEX = re.compile(r"\\(?:boxed|text|textbf|mathrm|mathbf)\s{0,3}\{([^{}]{0,200})\}|\\[()\[\]]")
_FRACTION = re.compile(r"\\[dt]?frac\s?\{\s?([^{}]{1,30}?)\s?\}\s?\{\s?([^{}]{1,30}?)\s?\}")


def unboxed(text: str) -> str:
    """Return ``text`` with LaTeX's marks around an answer blank and its fractions as 1/6: as long as it was."""
    if "\\" not in text:
        return text
    text = _FRACTION.sub(lambda found: f"{found[1]}/{found[2]}".ljust(len(found[0])), text)
    for _ in range(2):  # a text within a box
        text = _LATEX.sub(lambda found: (found[1] or "").rjust(len(found[0]) - 1) + " ", text)
    return text


@dataclass(frozen=True, slots=True)
class Envelope:
    """A reply as its readers see it."""

    # the model's turn in plain characters, of a very long one the end
    text: str
    start: int = 0  # of the turn in the reply
    status: CallStatus = "ok"  # how the call ended
    # The model ended its turn: what it wrote then is no part of its answer, and a limit that cut that cut no answer.
    ended: bool = False

    @classmethod
    def of(cls, reply: str, status: CallStatus = "ok") -> Envelope:
        """Return the envelope of ``reply``, whose call ended with ``status``."""
        seen = plain(_both_ends(reply))
        text = unboxed(_without_thinking(seen))
        opened, end = _turn(text)
        start = max(opened, end - MOST_READ)
        if status == "ok" and not text[start:end].strip() and _only_thinks(seen):
            status = "truncated"
        return cls(text[start:end], start, status, end < len(text))


def spoken(reply: str) -> str:
    """Return a reply without its thinking, every character as it is; both ends of a very long one."""
    return _without_thinking(_both_ends(reply)).strip()


def turn_of(reply: str) -> str:
    """Return the model's own turn, every character as it is, where a format of its own is read from it."""
    text = _without_thinking(_both_ends(reply))
    start, end = _turn(plain(text))
    return text[start:end].strip()


def _only_thinks(text: str) -> bool:
    """Return whether a reply ends in the midst of thinking: a limit cut it, even if the call does not say so."""
    marks = _MARK.findall(text)
    return bool(marks) and not _ENDS.match(marks[-1])


def _both_ends(reply: str) -> str:
    """Return both ends of a very long reply, with a mark where the second begins in the midst of thinking."""
    if len(reply) <= 2 * LONGEST_END:
        return reply
    cut = len(reply) - LONGEST_END
    opened = max(reply.rfind(mark, 0, cut) for mark in ("<think", "[THINK]", "◁think▷"))
    closed = max(reply.rfind(mark, 0, cut) for mark in ("</think", "[/THINK]", "◁/think▷"))
    return reply[:LONGEST_END] + (_CUT + "<think>" if opened > closed else _CUT) + reply[cut:]


def _without_thinking(text: str) -> str:
    """Return ``text`` with its thinking blank."""
    if "<|channel|>" in text:
        text = final_channel(text)
    shown: list[tuple[int, int]] = []
    place, inside = 0, False
    for mark in _MARK.finditer(text):
        # The next mark that ends thinking ends it, even if others were opened: thoughts mention such marks. One that ends
        # what was not begun, which some servers leave, hides all before it; one that is not closed all after it.
        if _ENDS.match(mark[0]):
            shown = shown if inside else []
            inside, place = False, mark.end()
        elif not inside:
            shown.append((place, mark.start()))
            inside = True
    return _only(text, shown if inside else [*shown, (place, len(text))])


def _only(text: str, shown: Sequence[tuple[int, int]]) -> str:
    """Return ``text`` with white space between line ends for all that is not within ``shown``."""
    pieces, place = [], 0
    for start, end in [*shown, (len(text), len(text))]:
        if start > place:
            pieces.append(("\n" + " " * (start - place - 2) + "\n")[: start - place])
        pieces.append(text[start:end])
        place = end
    return "".join(pieces)


def final_channel(text: str) -> str:
    """Return a reply in gpt-oss's form with everything blank but the messages on its final channel."""
    messages, shown = [*_CHANNEL.finditer(text)], []
    for each, behind in zip(messages, [*(m.start() for m in messages[1:]), len(text)], strict=False):
        if each[1].lower() == "final":
            ended = _TOKENS.search(text, each.end(), behind)
            shown.append((each.end(), ended.start() if ended else behind))
    return _only(text, shown) if messages else text


def _turn(text: str) -> tuple[int, int]:
    """Return where the turn of the model begins and ends."""
    start = _OPENING.match(text).end()  # type: ignore[union-attr]
    found = _TOKENS.search(text, start)
    end = found.start() if found else len(text)
    for found in islice(_SPEAKER.finditer(text, start, end), MOST_SPEAKERS):
        before = text[start : found.start()].strip()
        if before and (len(before) <= _SHORT or _ANSWERED.search(before)):
            return start, found.start()
    return start, end
