"""Ways in which simulated respondents leave the asked form: most still say what they mean, some cannot be read."""

from __future__ import annotations

from collections.abc import Mapping

# Of an answer; {answer} is what was meant. All of these are read as meant.
ANSWERS = (
    "**{answer}**", "“{answer}”.", "<think>It could be something else.</think>\n{answer}", "- {answer}",
    "{answer}, {answer}",
)  # fmt: skip
# Instead of "I don't know".
ABSTENTIONS: Mapping[str, tuple[str, ...]] = {
    "en": (
        "I don’t know.", "I do not know", "<think>Hm.</think>I don't know", "I really don't know that.",
        "**I don't know**",
    ),
    "zh": ("我不知道。", "不知道", "抱歉，我不知道答案。"),
    "ko": ("모릅니다.", "잘 모르겠습니다", "**모르겠습니다**"),
    "es": ("No lo sé.", "no lo se", "Lo siento, no lo sé."),
}  # fmt: skip
# Of a yes and of a no. All of these are read as meant.
YES: Mapping[str, tuple[str, ...]] = {
    "en": ("yes.", "“Yes”", "**Yes**", "Yes, I know that.", "<think>No, wait.</think>\nYes"),
    "zh": ("是的", "“是”。", "**是**", "是，我知道。", "<think>不是吧。</think>是"),
    "ko": ("네", "“예”", "**예**", "예, 알고 있습니다.", "<think>아니요?</think>예"),
    "es": ("Si", "«Sí»", "**Sí**", "Sí, lo sé.", "<think>No, espera.</think>Sí"),
}
NO: Mapping[str, tuple[str, ...]] = {
    "en": ("no.", "“No”", "**No**", "I do not know.", "<think>Yes, or is it?</think>\nNo, I am not sure."),
    "zh": ("不是", "“否”。", "**否**", "我不知道。", "<think>是吧？</think>否"),
    "ko": (
        "아니오", "“아니요”", "**아니요**", "모르겠습니다.", "<think>예?</think>아니요, 예를 들면 어렵습니다.",
    ),
    "es": ("no", "«No»", "**No**", "No lo sé.", "<think>Sí, creo.</think>No, así que no."),
}  # fmt: skip
# Neither a yes nor a no.
NEITHER: Mapping[str, tuple[str, ...]] = {
    "en": ("Yes and no", ""), "zh": ("但是", ""), "ko": ("예상", ""), "es": ("Sí y no", ""),
}  # fmt: skip
REFUSALS: Mapping[str, str] = {
    "en": "I'm sorry, I can't help with that.",
    "zh": "抱歉，我无法回答这个问题。",
    "ko": "죄송합니다. 그 질문에는 답할 수 없습니다.",
    "es": "Lo siento, no puedo responder a eso.",
}
