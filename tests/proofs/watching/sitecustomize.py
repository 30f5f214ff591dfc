"""Loaded by every Python of a host of the proof: a Celery worker then writes down what it sends and what it keeps."""

import os
import sys

if "metacog_assets.celery_runs" in sys.orig_argv:
    from tests.crash.victim import Reporter, watch

    _files: dict[int, Reporter] = {}

    def _report(*words: str) -> None:
        process = os.getpid()  # a worker forks: each process has a file of its own
        if process not in _files:
            _files[process] = Reporter(f"{os.environ['EVENTS']}-{process}")
        _files[process](*words)

    watch(_report)
