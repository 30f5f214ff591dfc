"""Ways in which simulated respondents leave the asked form: some can still be read, some cannot."""

from __future__ import annotations

# Fields: decision (0 or 1), other (the other one), rating (1-K), percent (up to 100). Each is (with confidence, without).
FORMS = (
    (
        '```json\n{{\n  "decision": "{decision}",\n  "confidence": {rating}\n}}\n```',
        '```json\n{{"decision": "{decision}"}}\n```',
    ),
    ('{{"decision": {decision}, "confidence": "{rating}"}}', '{{"decision": {decision}}}'),
    (
        'Here is my judgment: {{"confidence": {rating}, "decision": "{decision}"}}. I hope it helps.',
        'Here is my judgment: {{"decision": "{decision}"}}. I hope it helps.',
    ),
    (
        '<think>At first {{"decision": "{other}"}} looks right.</think>\n{{"decision":"{decision}","confidence":{rating}}}',
        '<think>At first {{"decision": "{other}"}} looks right.</think>\n{{"decision":"{decision}"}}',
    ),
    ('{{"decision": "{decision}", "confidence": {rating}.0}}', '{{"decision": {decision}.0}}'),
    ('{{"decision":"{decision}"}}', "Decision: {decision}"),
    ('{{"decision":"{decision}","confidence":"{percent}%"}}', "{decision}"),
    ('{{"decision":"{decision}","confidence":{rating}', '{{"decision":"{decision}"'),
    ("{{'decision': '{decision}', 'confidence': {rating}}}", "{{'decision': '{decision}'}}"),
    (
        '{{"decision":"{decision}","confidence":{rating}}} or {{"decision":"{other}","confidence":1}}',
        '{{"decision":"{decision}"}} or {{"decision":"{other}"}}',
    ),
    ("It could be either; I lean towards {decision}.", "It could be either; I lean towards {decision}."),
    ("", ""),
)

REFUSALS = (
    "I'm sorry, but I can't judge that.",
    "I am not able to help with that request.",
    "Sorry. As an assistant I do not take sides.",
)
