"""A study from Python: every answer is a Polars frame, every mistake a `MetacogError` of one line.

Start with `open_study`. Nothing is asked and nothing is spent before `OpenStudy.run` is called. What one method needs is
imported when it is called, so that to read a board costs no Dagster.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from metacog_pipeline.errors import MetacogError, StoreError, StudyError

if TYPE_CHECKING:
    import polars as pl

    from metacog_pipeline.leaderboard.output import Rows
    from metacog_pipeline.leaderboard.verdict import Verdict
    from metacog_pipeline.study import Study

#: Ways a run may end that leave boards behind: all done, some partitions failed, rows not readable, batches under way.
_WITH_BOARDS = (0, 7, 8, 9)


def open_study(path: str | Path) -> OpenStudy:
    """Open the study file at ``path``; it is read and checked, nothing is written. Raises ``StudyError`` for a mistake."""
    from metacog_pipeline.cli.options import opened

    if not isinstance(path, str | Path):
        raise StudyError(f"open_study: give the path of a study file, not {path!r}")
    return OpenStudy(opened(Path(path)))


class OpenStudy:
    """A study file with the answers and boards in its home."""

    def __init__(self, study: Study) -> None:
        self.study = study

    def __repr__(self) -> str:
        models = ", ".join(spec.name for spec in self.study.models)
        return f"<study {self.study.study.name}: {', '.join(self.study.enabled)}; models {models}>"

    def plan(self) -> pl.DataFrame:
        """Return calls, tokens and dollars of what is left to ask: one row per model and benchmark. Asks no model.

        Dollars are null where a model has no price.
        """
        import polars as pl

        from metacog_pipeline.asking.plan import plan_study

        return pl.DataFrame(plan_study(self.study).rows, infer_schema_length=None)

    def run(
        self,
        *,
        benchmarks: Sequence[str] = (),
        models: Sequence[str] = (),
        runs: Sequence[int] = (),
        quiet: bool = True,
    ) -> pl.DataFrame:
        """Ask what is missing, score it, rebuild the boards, as ``metacog run`` does; return the table ``progress``.

        Models that have a price cost money. A partition that failed is a row of the table that says why. Raises
        ``StudyError`` for what the study does not have, ``MetacogError`` where the run ended without boards.
        """
        from metacog_pipeline.cli.running import launch, refuse_unknown

        refuse_unknown(self.study, benchmarks, models, runs)
        code = launch(self.study, benchmarks=benchmarks, models=models, runs=runs, quiet=quiet)
        if code not in _WITH_BOARDS:
            raise MetacogError(f"run: ended with exit code {code}; its message is on standard error")
        return self.sql("from progress")

    def board(self, benchmark: str | None = None) -> pl.DataFrame:
        """Return the table ``leaderboard``: a row per benchmark, condition, model, measure and source."""
        from metacog_pipeline.leaderboard import read

        return _frame(read.board(self.study.home, benchmark))

    def observations(self, benchmark: str) -> pl.DataFrame:
        """Return every scored response of a benchmark: a row per model, run, condition and item.

        Raises ``StudyError`` where the study does not run it, ``StoreError`` where nothing is scored yet.
        """
        import polars as pl

        from metacog_pipeline.benchmark.bound import bound
        from metacog_pipeline.scoring.files import scored_frames

        self._require(benchmark)
        if not (found := scored_frames(bound(self.study, benchmark))):
            raise StoreError(f"{benchmark}: no response is scored yet; run the study first")
        return pl.concat(found, how="diagonal_relaxed").select(pl.exclude("^_.*$"))  # columns of the scoring

    def transcripts(self, benchmark: str) -> pl.DataFrame:
        """Return every call of a benchmark with prompt, reply and what it cost; superseded calls are marked.

        Raises ``StudyError`` where the study does not run it, ``StoreError`` before there is a leaderboard.
        """
        self._require(benchmark)
        return self.sql(f"from transcripts where benchmark = '{benchmark}'")

    def compare(self, a: str, b: str) -> pl.DataFrame:
        """Return the tests of model ``a`` against ``b``, as ``metacog compare`` prints them: ``a`` minus ``b``.

        The columns are those of the table ``comparisons``; rows that answer a question of the verdict come first.
        """
        from metacog_pipeline.leaderboard import read

        return _frame(read.pairs(self.study, a, b))

    def verdict(self) -> dict[str, Verdict]:
        """Return who knows what it knows: the verdict by kind of respondent (``measured``, ``simulated``).

        It is what the report, ``metacog board`` and the UI show. Raises ``StoreError`` before there is a leaderboard.
        """
        from metacog_pipeline.leaderboard import read

        return read.verdicts(self.study.home)

    def sql(self, query: str) -> pl.DataFrame:
        """Return what one reading statement answers from the study's DuckDB file; `transcripts` has prompts and replies.

        Names that repeat are numbered (``a``, ``a_2``). Raises ``StudyError`` for any other statement, and where a column
        of the answer fits no frame.
        """
        import polars as pl

        from metacog_pipeline.leaderboard.read import query_table

        table = query_table(self.study.home, query)
        try:
            found = pl.DataFrame(pl.from_arrow(table))
        except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
            raise StudyError(
                f"query: its answer fits no frame ({error}); cast that column to varchar"
            ) from None
        # DuckDB sums whole numbers in 128 bits: a column that fits 64 has the usual type.
        sums = found.select(pl.col(pl.Decimal(38, 0)).cast(pl.Int64, strict=False))
        return found.with_columns(each for each in sums if each.null_count() == found[each.name].null_count())

    def _require(self, benchmark: str) -> None:
        from metacog_pipeline.cli.running import refuse_unknown

        refuse_unknown(self.study, [benchmark], (), ())


def _frame(found: Rows) -> pl.DataFrame:
    """Return the rows of a query as a frame whose types come from all of them."""
    import polars as pl

    return pl.DataFrame(found.rows, schema=list(found.columns), orient="row", infer_schema_length=None)
