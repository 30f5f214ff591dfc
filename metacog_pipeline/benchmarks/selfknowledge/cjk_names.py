"""Chinese and Korean names in a reply: said, and not denied, only mentioned, or part of a word for a people."""

from __future__ import annotations

import re

_DEMONYM = re.compile(r"(?:尼亚|尼西亚|利亚|人(?!民共和国)|语|語|文(?!化)|式|裔|籍|话|話)")
_KO_DEMONYM = re.compile(r"(?:인(?!데|가요|지|$|[\s.,])|인(?=$|[\s.,])|어(?=$|[\s.,를가는로])|계 |산 | 사람)")
_DENIED_BEHIND = re.compile(
    r"[\s”\"'》]{0,2}(?:[이가은는] ?아[니닙닌]|(?:으?로|라고) (?:알지만|아는 사람|알려져 있지만)|이라고 (?:생각"
    r"|오해|착각)|라고 (?:생각|오해|착각)|[은는이가]? ?틀[린렸]|보다 | ?다음|의 (?:후임|친구|형|동생|아들|딸|아내"
    r"|남편|제자|스승|경쟁|라이벌|이웃|동료)|不是|是错|并不(?:对|正确))"
)
_DENIED_BEFORE = re.compile(r"(?:不是|并非|并不是|而非|不在|不叫|而不是)[\s“\"'《]*$")
_OTHERS = re.compile(r"或者?|还是|또는|이나 |혹은|/|\bor\b")
_OTHERS_SAY = re.compile(
    r"(?:以为|误认为|常被|常说|有人说|容易(?:与|和|跟)|混淆|不同于|与[^，。]{0,6}不同|흔히|많은 사람"
    r"|사람들[은이]|착각|오해|일부는)[^。.!，,]{0,16}$"
)
_CONCLUDES = re.compile(
    r"(?:因此|所以|答案|应该|应为|正确|其实|实际上|更正|不对|综上|따라서|정답|답[은:]|즉|결론|사실은?|정정"
    r"|아니)[^。.]{0,12}$"
)
_PARTICLE = re.compile(
    r"(?:[이가은는을를에의로와과도만예였임인께씨님랑때및등쯤]|으로|입니|하고|부터|까지|처럼|화(?![가-힣])"
    r"|정도|특별시|광역시|[시군구국강산호섬왕년월일명개]|대왕"
    r"|제국|공화국|(?:네요?|죠|요|다|라|며|고|지만?|야|이다)(?![가-힣]))"
)
_BESIDE = re.compile(
    r"[，,；;、(（][^，,；;。]{0,4}(?:与|和|跟|同|仅次于|不同于|比|次于|曾为|替|给|受|向|继|早于|晚于|先于|大于|小于|高于|低于|优于|仿|随)[“\"'《]*$"
)
_SECOND = re.compile(r"第[二三四五]|其次|두 번째|세 번째")
_BREAK = re.compile(r"[。！!\n；;]|\.(?=\s|$)")


def says_cjk(text: str, name: str, question: str = "") -> bool:
    """Return whether a Chinese or Korean name is what a text says."""
    korean = "\uac00" <= name[-1] <= "\ud7a3"
    first = _BREAK.split(text.strip(), maxsplit=1)[0]
    letters = [re.escape(letter) for letter in name if letter not in " ·・"]
    for found in re.finditer(r"[ ·・]?".join(letters), text):
        behind, before = (
            text[found.end() : found.end() + 16],
            text[max(0, found.start() - 24) : found.start()],
        )
        if korean and before and "\uac00" <= before[-1] <= "\ud7a3":
            continue
        if korean and "\uac00" <= behind[:1] <= "\ud7a3" and not _PARTICLE.match(behind):
            continue
        if re.search(r"\w[，,]继?$", before) and re.match("的(?!是)|之后|之前|以后", behind):
            continue
        if _BESIDE.search(before) and re.search(r"\w", before[:-2]):
            continue
        if _SECOND.search(before) and not _SECOND.search(question):
            continue
        if korean and behind.startswith(" 사람") and "사람" in question:
            return True
        if (_KO_DEMONYM if korean else _DEMONYM).match(behind) or _DENIED_BEHIND.match(behind):
            continue
        if _DENIED_BEFORE.search(before) or _OTHERS.match(behind.strip()) or _OTHERS.search(before[-3:]):
            continue
        concludes = _CONCLUDES.search(before) is not None
        if (_OTHERS_SAY.search(before) and not concludes) or _only_mentioned(text[: found.start()]):
            continue
        later = _BREAK.search(text[: found.start()].strip()) is not None
        if later and len(first) <= 14 and name not in first and not concludes:
            continue
        return True
    return False


def _only_mentioned(before: str) -> bool:
    """Return whether a name stands inside brackets that do not begin with it, behind something else that is said."""
    opened = max(before.rfind("("), before.rfind("（"))
    inside = opened >= 0 and not re.search(r"[)）]", before[opened:])
    return inside and before[opened + 1 :].strip() != "" and re.search(r"\w", before[:opened]) is not None
