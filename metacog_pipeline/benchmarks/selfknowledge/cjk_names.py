"""Chinese and Korean names in a reply: said, and not denied, only mentioned, or part of a word for a people."""

from __future__ import annotations

import re
from collections.abc import Sequence

_DEMONYM = re.compile(r"(?:尼亚|尼西亚|利亚|人(?!民共和国)|语|語|文(?!化)|式|裔|籍|话|話)")
_SOUNDS = (
    "[阿埃艾巴贝比布达德迪杜多尔法菲弗格哈霍基加杰卡克科拉莱勒里利林鲁伦罗洛马麦曼米莫姆纳内尼诺帕佩普奇热"
    "萨塞瑟森沙斯索塔泰特托瓦韦维沃西谢亚伊约泽兹]"
)
_TRANSCRIBED = re.compile(rf"{_SOUNDS}{{2}}")  # a foreign name goes on: 贝尔 is not 贝尔格莱德
_GOES_ON = re.compile(
    r"(?![的了吧呢啊嘛呀氏等市省县城都国州岛山河湖江洲海峰年月日号区镇队人])[\u4e00-\u9fff]"
)  # 李白石 is not 李白
_ASKS_WHO = re.compile(r"누구|누가")
_OTHER_THING = re.compile(
    r"(?:大?[路街站湾塔桥]|大[学學]|学院|医院|银行|日报|晚报|饭店|酒店|烤鸭|时间|条约|协定"
    r"|会议|战争|战役|事件)(?![是就])"
)
_KO_DEMONYM = re.compile(r"(?:인(?!데|가요|지|$|[\s.,])|인(?=$|[\s.,])|어(?=$|[\s.,를가는로])|계 |산 | 사람)")
_DENIED_BEHIND = re.compile(
    r"[\s”\"'》]{0,2}(?:[이가은는] ?아[니닙닌님]|(?:으?로|라고) (?:알지만|아는 사람|알려져 있지만)|이라고 (?:생각"
    r"|오해|착각)|라고 (?:생각|오해|착각)|[은는이가]? ?틀[린렸]|보다 |[은는]? ?(?:옛|이전)| ?다음|[와과] (?:동시대"
    r"|같은 시대|달리|다르게|함께|경쟁|비슷)|의 (?:후임|친구|형|동생|아들|딸|아내|남편|제자|스승|경쟁|라이벌|이웃"
    r"|동료)|的(?:祖父|祖母|父亲|母亲|儿子|女儿|妻子|丈夫|哥哥|弟弟|朋友|同学|老师|学生|弟子|后人)| ?(?:시대|시절)"
    r"|(?:时代|时期)的|不是|是错|并不(?:对|正确))"
)
_DENIED_BEFORE = re.compile(r"(?:曾经?是|以前是|原来是|不是|并非|并不是|而非|不在|不叫|而不是)[\s“\"'《]*$")
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
    r"[，,；;、(（][^，,；;。]{0,4}(?:与|和|跟|同|仅次于|不同于|比|次于|曾为|替|给"
    r"|受|向|继|早于|晚于|先于|大于|小于|高于|低于|优于|仿|随)[“\"'《]*$"
)
_SECOND = re.compile(r"第[二三四五]|其次|두 번째|세 번째")
_OF = re.compile(
    r"의 (위성|수도|섬|도시|강|산|왕|대통령|친구|아들|딸|제자|스승|작품|주인공|감독|작가|일부) [가-힣]"
)
_ASKED = re.compile(r"(?:인가요|일까요|인가|일까|吗)?[?？]")
_GIVEN = re.compile(r"([\u4e00-\u9fff]{1,8})[·・](?:[\u4e00-\u9fff]{1,12}[·・]){0,3}\Z")
_HEAD_CLAUSE = re.compile(
    r"(?![^，,。.；;]{0,14}아[니닌])\s*[^，,。.；;：:！!？?不非]{1,14}(?:[，,；;] ?而?|(?:이고|이며|이지만),? )"
)
_BARE_HEAD = re.compile(
    r"(?!是的|对|没错|答案|当然|好的|其实|中国|不|很多|有人)\s*[\u4e00-\u9fff]{2,5}[，,；;]"
)
_PREDICATE = re.compile(r"(?![市省人])([^，,。.；;！!？?是]{2,14})")
_TELLS = re.compile(r"(?:[강산섬호]?[은는] |只?是|则是?|曾是?|才是|为|当时是)([^，,。.；;！!]{1,14})")
_BREAK = re.compile(r"[。！!\n；;]|\.(?=\s|$)")


def says_cjk(text: str, name: str, question: str = "", names: Sequence[str] = ()) -> bool:
    """Return whether a Chinese or Korean name is what a text says; ``names`` are all that are accepted."""
    korean = "\uac00" <= name[-1] <= "\ud7a3"
    first = _BREAK.split(text.strip(), maxsplit=1)[0]
    letters = [re.escape(letter) for letter in name if letter not in " ·・"]
    for found in re.finditer(r"[ ·・]?".join(letters), text):
        behind, before = (
            text[found.end() : found.end() + 16],
            text[max(0, found.start() - 24) : found.start()],
        )
        if _in_longer(text, found.start(), name, names):
            continue
        if _ASKED.match(behind) and re.search(r"\w", text[found.end() + 6 :]):
            continue
        if "·" not in name and (given := _GIVEN.search(before)) and not _known(given[1], name, names):
            continue
        if _told_of_another(text[: found.start()], behind, question):
            continue
        if korean and (of := _OF.match(behind)) and of[1] not in question:
            continue
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
        if before.endswith(("(", "（")) and behind.startswith(("의 ", "的")):
            continue
        if not korean and _TRANSCRIBED.match(behind) and _TRANSCRIBED.match(name):
            continue
        if not korean and len(text.strip()) == len(name) + 1 and _GOES_ON.fullmatch(behind):
            continue
        if korean and behind.strip(" .") == "만":
            continue  # a bay
        if korean and behind.startswith("시") and _ASKS_WHO.search(question):
            continue
        if (_KO_DEMONYM if korean else _DEMONYM).match(behind) or _DENIED_BEHIND.match(behind):
            continue
        if not korean and (thing := _OTHER_THING.match(behind)) and thing[0][-1] not in question:
            continue
        if _DENIED_BEFORE.search(before) or _OTHERS.match(behind.strip()) or _OTHERS.search(before[-3:]):
            continue
        concludes = _CONCLUDES.search(before) is not None
        if (_OTHERS_SAY.search(before) and not concludes) or _only_mentioned(text[: found.start()], behind):
            continue
        later = _BREAK.search(text[: found.start()].strip()) is not None
        if later and len(first) <= 14 and name not in first and not concludes:
            continue
        return True
    return False


def _in_longer(text: str, start: int, name: str, names: Sequence[str]) -> bool:
    """Return whether a name is the part of a longer accepted one that stands there, which is read itself."""
    return any(
        text.startswith(each, start - each.index(name))
        for each in names
        if len(each) > len(name) and name in each and start >= each.index(name)
    )


def _known(given: str, name: str, names: Sequence[str]) -> bool:
    """Return whether an accepted name has this first name before a surname; where none has any, every one is."""
    full = [re.split("[·・-]", each)[0] for each in names if re.search(rf"[·・-]{re.escape(name)}\Z", each)]
    return not full or any(given.endswith(first) for first in full)


def _told_of_another(before: str, behind: str, question: str) -> bool:
    """Return whether a clause of its own tells something else of a name, after an answer: "波恩，柏林是旧都"."""
    if not _HEAD_CLAUSE.fullmatch(before):
        return False
    bare = before.endswith("而") or _BARE_HEAD.fullmatch(before)
    told = _TELLS.match(behind) or (_PREDICATE.match(behind) if bare else None)
    said = set(re.findall(r"[\u3400-\u9fff\uac00-\ud7a3]", told[1])) if told else set()
    return bool(said) and len(said - set(question)) * 2 >= len(said)


def _only_mentioned(before: str, behind: str) -> bool:
    """Return whether a name stands inside brackets with other words, behind something else that is said."""
    opened = max(before.rfind("("), before.rfind("（"))
    inside = opened >= 0 and not re.search(r"[)）]", before[opened:])
    alone = before[opened + 1 :].strip() == "" and re.match(r"[都市省州国城氏]?[)）]", behind)
    return inside and not alone and re.search(r"\w", before[:opened]) is not None
