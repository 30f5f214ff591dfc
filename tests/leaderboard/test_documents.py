"""The notebook of the documents runs on a leaderboard."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from metacog_pipeline.leaderboard.build import build

ROOT = Path(__file__).resolve().parents[2]
MakeHome = Callable[..., Path]


@pytest.fixture
def home(make_home: MakeHome) -> Path:
    made = make_home({"alpha": "measured", "beta": "measured"})
    build(made)
    return made


def test_the_notebook_runs_from_top_to_bottom(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METACOG_HOME", str(home))
    monkeypatch.setenv("MPLBACKEND", "agg")
    notebook = json.loads((ROOT / "docs" / "first_look.ipynb").read_text("utf-8"))
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(cells) >= 5 and not any(cell.get("outputs") for cell in notebook["cells"])
    names: dict[str, object] = {}
    for cell in cells:
        exec(compile(cell, "first_look.ipynb", "exec"), names)
    assert names["board"].height > 0
