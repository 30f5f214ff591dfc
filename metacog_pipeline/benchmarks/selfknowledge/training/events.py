"""Event files for TensorBoard, beside the log of a run, where tensorboard is installed."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from metacog_pipeline.benchmarks.selfknowledge.training.figures import Figures

FOLDER = "events"


class Events:
    """Writes the figures of each generation; nothing where tensorboard is not installed."""

    def __init__(self, folder: Path, updates: int) -> None:
        self._writer: Any = None
        if find_spec("tensorboard") is not None:
            from torch.utils.tensorboard import SummaryWriter

            writer: Any = SummaryWriter
            # What a run cut short had told after its last durable generation is not shown.
            self._writer = writer(str(folder / FOLDER), purge_step=updates + 1)

    def add(self, figures: Figures) -> None:
        """Write a generation."""
        if self._writer is None:
            return
        for name, value in figures.numbers().items():
            if isinstance(value, int | float) and name != "updates":
                self._writer.add_scalar(name, value, figures.updates)
        self._writer.flush()

    def close(self) -> None:
        """Close the file."""
        if self._writer is not None:
            self._writer.close()
