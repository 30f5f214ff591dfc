"""The item of the signal-detection benchmark: one text, one of two labels.

=====  =========================================  ==============  ======================
task   question                                   0 (S1)          1 (S2)
=====  =========================================  ==============  ======================
``A``  what a sentence of a film review feels     negative        positive
``B``  where a sentence comes from                oral speech     a written source
``C``  whether one "the" was deleted              unchanged       one "the" deleted
=====  =========================================  ==============  ======================
"""

from __future__ import annotations

from typing import Any, Literal

from metacog_pipeline.benchmark import contract

Task = Literal["A", "B", "C"]
TASKS: tuple[Task, ...] = ("A", "B", "C")
S1, S2 = 0, 1


class Item(contract.Item):
    """One trial's text and its true label.

    ``stimulus`` is 0 (S1) or 1 (S2); ``source`` the name of the file the text comes from and ``source_row`` its
    0-based row there; ``position`` the 0-based place among the items of its task in the order they were drawn, which
    a larger number of trials does not change.
    """

    task: Task
    stimulus: Literal[0, 1]
    text: str
    source: str
    source_row: int

    def asked_and_scored_by(self) -> Any:
        """Return task, text and label."""
        return [self.task, self.text, self.stimulus]
