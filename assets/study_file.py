"""Which study this code location shows: the file named by ``METACOG_STUDY``."""

from __future__ import annotations

import functools
import os
from pathlib import Path

from dagster import get_dagster_logger

from metacog_pipeline.files import shipped
from metacog_pipeline.study import Study, load_study

VARIABLE = "METACOG_STUDY"


@functools.cache
def current_study() -> Study:
    """Return the study named by ``METACOG_STUDY``, or the shipped demo kept in ``metacog-demo`` below this folder."""
    if named := os.environ.get(VARIABLE):
        return load_study(Path(named))
    get_dagster_logger().info(f"{VARIABLE} is not set: showing the demo study, kept in ./metacog-demo")
    demo = load_study(shipped("data", "demo", "study.toml"))
    section = demo.study.model_copy(update={"home": str(Path("metacog-demo/home").resolve())})
    return demo.model_copy(update={"study": section})
