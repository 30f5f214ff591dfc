"""Ways in which simulated respondents leave the asked form: most can still be read, some cannot."""

from __future__ import annotations

FORMS = ("fenced", "thinking", "prose around", "cut off", "no object")

REFUSALS = (
    "I'm sorry, but I can't assess this case.",
    "I am not able to help with that request.",
    "Sorry, this needs an expert who can be held responsible for it.",
)

# Of the silent observer.
SILENCES = ("", "   \n", "I would rather not commit myself.", "Let us move on to the next case.")


def untidily(reply: str, form: str) -> str:
    """Return a reply in one of the `FORMS`."""
    match form:
        case "fenced":
            return f"```json\n{reply}\n```"
        case "thinking":
            return f"<think>Let me weigh this {{step by step}}.</think>\n{reply}"
        case "prose around":
            return f"Here is my assessment.\n\n{reply}\n\nTell me if you need more."
        case "cut off":
            return reply[: len(reply) * 9 // 10]
        case _:
            return "Overall I lean towards the first explanation, with moderate confidence in the rest."
