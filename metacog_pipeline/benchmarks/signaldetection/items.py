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

from dataclasses import dataclass
from typing import Literal

from metacog_pipeline.files import canonical_json, sha256_hex

Task = Literal["A", "B", "C"]
TASKS: tuple[Task, ...] = ("A", "B", "C")
S1, S2 = 0, 1


@dataclass(frozen=True, slots=True)
class Item:
    """One trial's text and its true label.

    ``stimulus`` is 0 (S1) or 1 (S2); ``source`` the name of the file the text comes from and ``source_row`` its
    0-based row there; ``position`` the 0-based place among the items of its task in the order they were drawn, which
    a larger number of trials does not change.
    """

    item_id: str
    task: Task
    stimulus: Literal[0, 1]
    text: str
    dataset: str
    source: str
    source_row: int
    position: int

    @property
    def item_hash(self) -> str:
        """SHA-256 over everything that decides how the item is asked and scored."""
        return item_hash(self.task, self.text, self.stimulus)


def item_hash(task: str, text: str, stimulus: int) -> str:
    """Return the digest of an item with this text and label."""
    return sha256_hex(canonical_json([task, text, stimulus]))
