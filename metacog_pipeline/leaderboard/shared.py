"""A study whose answers are in a store: what other hosts kept, made and published is brought before it is used."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from metacog_pipeline.storage import derived
from metacog_pipeline.study import Study
from metacog_pipeline.transcripts.shared import refresh


def catch_up(study: Study) -> None:
    """Bring what other hosts kept, made and published into the home of a study with a store; else do nothing."""
    if study.deploy.store is not None:
        study.prepare()
        refresh(study.home)
        derived.bring(study.home)


@contextlib.contextmanager
def among_hosts(study: Study) -> Iterator[None]:
    """Begin with all that other hosts kept and made, and bring them what is made meanwhile. Raises as `catch_up`."""
    catch_up(study)
    try:
        yield
    finally:
        derived.send(study.home)
