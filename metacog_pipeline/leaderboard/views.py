"""Temporary views over the data files, made when the first table reads them: of what changed where that is enough."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import duckdb
import pyarrow as pa

from metacog_pipeline.errors import one_line
from metacog_pipeline.leaderboard.checks import any_of
from metacog_pipeline.leaderboard.database import identifier
from metacog_pipeline.leaderboard.failures import Broken, owner
from metacog_pipeline.leaderboard.inputs import Input, of_dataset
from metacog_pipeline.leaderboard.models import Project, SqlModel, tables_behind
from metacog_pipeline.leaderboard.plan import Plan
from metacog_pipeline.leaderboard.staging import SHARED

#: Read before it is known what has changed: they say what the study asks.
GIVEN = ("stg_study", "stg_models", "stg_partitions", "stg_helpers", "stg_boards")
MEASURES = "stg_measures"


def make_given_views(connection: duckdb.DuckDBPyConnection, files: Mapping[str, Input]) -> None:
    """Make the views that say what the study asks."""
    for view in GIVEN:
        dataset = SHARED[view]
        connection.execute(f"create temp view {view} as {dataset.reading(of_dataset(dataset, files))}")


@dataclass(slots=True)
class Views:
    """The views of one build. ``excluded`` are (view, benchmark) whose files are left out, ``broken`` parts likewise."""

    connection: duckdb.DuckDBPyConnection
    project: Project
    files: Mapping[str, Input]
    plan: Plan
    declared: list[dict[str, object]]
    broken: Mapping[str, str]
    excluded: Mapping[tuple[str, str], str]
    _made: set[str] = field(default_factory=lambda: set(GIVEN))

    def ensure(self, name: str) -> None:
        """Make the view ``name``, and those its parts read, unless it is there or no view at all.

        Raises
        ------
        Broken
            If a part of a benchmark cannot be read.
        """
        if name in self._made or name not in self.project.datasets:
            return
        self._made.add(name)
        dataset = self.project.datasets[name]
        paths = [path for path in of_dataset(dataset, self.files) if self.plan.reads(name, path)]
        kept = [path for path in paths if (name, owner(path, self.files)) not in self.excluded]
        whole = self._declared() if name == MEASURES else dataset.reading(kept)
        for part in self.project.parts:
            if f"stg_{part.header.part_of}" == name and part.name not in self.broken:
                for read in part.reads:
                    self.ensure(read)
                try:
                    self.connection.execute(f"create temp view part_{part.name} as\n{part.sql}")
                except duckdb.Error as error:
                    raise Broken({part.name: f"{part.file}: {one_line(str(error), 300)}"}, {}) from None
                whole += f" union all by name select * from part_{part.name}"
        self.connection.execute(f"create temp view {name} as {whole}")

    def shadow(self, model: SqlModel) -> list[str]:
        """Let the growing tables that ``model`` reads show only what changed of them; return their names."""
        if model.header.grows != "by model":
            return []
        names = set(tables_behind(model.reads, self.project.parts)) & self.plan.growing.keys()
        for other in self.project.models:
            if other.name in names:
                self.connection.execute(
                    f"create temp view {identifier(other.name)} as select * "
                    f"from {other.schema}.{identifier(other.name)} where {any_of(self.plan.conditions(model))}"
                )
        return sorted(names)

    def _declared(self) -> str:
        dataset = self.project.datasets[MEASURES]
        if not self.declared:
            return dataset.reading([])
        self.connection.register("declared_measures", pa.Table.from_pylist(self.declared))
        return dataset.reading([], "from declared_measures")
