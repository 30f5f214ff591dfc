"""Test files compiled once before the workers of `make test` start.

pytest compiles a test file, with what tells the values of a failed ``assert``, where it is collected first, and keeps the
result. Workers collect the same files at the same time: each would compile all of them, 15 s of processor time a worker.
"""

import contextlib
import importlib.util
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

import pytest
from _pytest.assertion import rewrite

_HEAD = 16  # bytes: magic number, flags, hash of the source


def compile_once(config: pytest.Config, folder: Path, workers: int) -> None:
    """Compile the test files below ``folder`` that changed, in so many processes."""
    found = sorted((*folder.rglob("test_*.py"), *folder.rglob("conftest.py")))
    left = [path for path in found if not _is_kept(path)]
    children = []
    for turn in range(min(workers, len(left))):
        with warnings.catch_warnings():
            # Libraries may have threads, which Python 3.12 warns of; a child compiles, and uses none of them.
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            try:
                _compile(config, left[turn::workers])
            finally:
                os._exit(0)  # what could not be compiled is told by the worker that collects it
        children.append(child)
    for child in children:
        os.waitpid(child, 0)


def is_wanted(config: pytest.Config) -> bool:
    """Return whether this process starts workers that find what it keeps."""
    apart = getattr(config.option, "dist", "no") != "no" and not hasattr(config, "workerinput")
    # Another pytest may do it otherwise: each worker compiles then.
    known = all(
        hasattr(rewrite, each) for each in ("_rewrite_test", "_write_pyc", "get_cache_dir", "PYC_TAIL")
    )
    return apart and known and not sys.dont_write_bytecode and config.getoption("assertmode") == "rewrite"


def _kept(path: Path) -> Path:
    return Path(rewrite.get_cache_dir(path)) / (path.stem + rewrite.PYC_TAIL)


def _is_kept(path: Path) -> bool:
    try:
        with _kept(path).open("rb") as kept:
            return kept.read(_HEAD)[8:] == importlib.util.source_hash(path.read_bytes())[:8]
    except OSError:
        return False


def _compile(config: pytest.Config, paths: Sequence[Path]) -> None:
    state = config.stash[rewrite.assertstate_key]
    for path in paths:
        with contextlib.suppress(SyntaxError, OSError):
            _kept(path).parent.mkdir(exist_ok=True)
            digest, code = rewrite._rewrite_test(path, config)
            rewrite._write_pyc(state, code, digest, _kept(path))
