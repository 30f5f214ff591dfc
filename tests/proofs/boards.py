"""Boards of responses nobody gave: they take the place of a small study's own, and everything is made from them."""

import polars as pl

from metacog_pipeline.asking import tasks
from metacog_pipeline.conformance import Tried
from metacog_pipeline.files import sha256_hex
from metacog_pipeline.leaderboard.build import build
from metacog_pipeline.leaderboard.read import run_query
from metacog_pipeline.leaderboard.status import write_status
from metacog_pipeline.scoring import cross_benchmark, files
from metacog_pipeline.study.frames import write_frame


def wrong_on_boards(tried: Tried, responses: pl.DataFrame) -> list[str]:
    """Return what is wrong with the boards made from ``responses``: a table that failed, or numbers that disagree."""
    home = tried.study.home
    for partition in tasks.partitions(tried.benchmark):
        own = (pl.col("model") == partition.spec.name) & (pl.col("run") == partition.run)
        read = responses.filter(own)
        write_frame(read, partition.below("responses"), sha256_hex(read.write_json().encode()))
        files.score(tried.benchmark, partition)
    files.pool(tried.benchmark)
    wrong = list(files.compare(tried.benchmark).failures)
    cross_benchmark.publish(tried.study)
    tried.study.path.touch()  # its digest is listed
    write_status(tried.study)
    (home / "leaderboard.duckdb").unlink(missing_ok=True)  # made again, not patched
    made = build(home)  # a test of the warehouse that fails raises
    wrong += [f"{name}: {reason}" for name, reason in made.failures.items()]
    wrong += [str(row) for row in run_query(home, "from measures_disagree").rows]
    return wrong
