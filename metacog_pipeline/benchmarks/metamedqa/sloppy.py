"""Ways in which simulated respondents leave the asked form: some can still be read, some cannot."""

from __future__ import annotations

# Fields: letter, rating (1-5), percent (20-100), other (another letter), text (the option's text).
FORMS = (
    "**Answer:** ({letter})\n**Confidence:** {rating}/5",
    "The correct answer is {letter}. Confidence: {rating} out of 5.",
    '```json\n{{"answer": "{letter}", "confidence": {rating}}}\n```',
    "Let me think this through step by step.\n\nFinal answer: $\\boxed{{\\text{{{letter}}}}}$\nConfidence: {rating}",
    "{letter}. {text}\n\nConfidence level: {rating}",
    "answer - {letter}, confidence - {rating}",
    "{letter}",
    "Answer: {letter}\nConfidence: {percent}%",
    "Answer: {letter}\nConfidence: fairly high",
    "Answer: {letter} or {other}\nConfidence: {rating}",
    "It depends on the patient; I would lean towards {text}, but a colleague should look at this.",
    "",
)

REFUSALS = (
    "I'm sorry, but I can't give medical advice. Please see a doctor.",
    "I am not able to help with that request.",
    "Sorry. As an assistant I must not answer questions about a patient's treatment.",
)
