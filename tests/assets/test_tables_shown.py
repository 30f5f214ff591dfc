"""What a visitor of the UI sees of the tables: meanings of columns, where they come from, first rows, who stands where."""

import base64
import xml.etree.ElementTree as ElementTree
from typing import Any

import polars as pl
import pytest
from dagster import AssetKey, AssetRecordsFilter

from metacog_assets.marking import LINEAGE, SCHEMA
from metacog_assets.table_previews import board_figure


@pytest.fixture
def made(bench, simulated, http):
    """A study with one model that answers and one without its key, run once; its tables' metadata by name."""
    bench.write(simulated("first"), http("second", api_key_env="METACOG_TEST_NO_SUCH_KEY"))
    bench.launch()
    return bench


def metadata(bench: Any, table: str) -> Any:
    event = bench.instance.get_latest_materialization_event(AssetKey(["leaderboard", table]))
    return event.asset_materialization.metadata


def picture(markdown: str) -> ElementTree.Element:
    """Return the SVG of a picture in Markdown."""
    start = "data:image/svg+xml;base64,"
    return ElementTree.fromstring(base64.b64decode(markdown.split(start)[1].rstrip(")")))


def test_tables_are_shown_with_meanings_sources_and_rows(made):
    keys = {key for key in made.instance.all_asset_keys() if key.path[0] == "leaderboard"}
    assert AssetKey(["leaderboard", "metamedqa", "kinds"]) in keys
    for key in keys:
        columns = made.instance.get_latest_materialization_event(key).asset_materialization.metadata[SCHEMA]
        assert columns.value.columns and all(column.description for column in columns.value.columns), key
    board = metadata(made, "leaderboard")
    assert {"estimate", "model"} <= set(board[LINEAGE].value.deps_by_column)
    assert "first" in board["headlines"].value and "accuracy" in board["headlines"].value
    drawn = "".join(picture(board["figure"].value).itertext())
    assert "metamedqa, baseline" in drawn and "first" in drawn
    assert "second" in metadata(made, "progress")["preview"].value
    seen = made.instance.fetch_observations(
        AssetRecordsFilter(asset_key=AssetKey("metamedqa_transcripts"), asset_partitions=["second|1"]),
        limit=5,
    ).records
    assert "METACOG_TEST_NO_SUCH_KEY is not set" in seen[0].asset_observation.metadata["reason"].value


def test_the_figure_takes_names_as_data_and_rows_without_interval():
    names = ("benchmark", "condition", "measure", "model", "estimate", "low", "high")
    rows = [
        ("b", "c", "m", "<script>alert(1)</script>", 0.5, None, None),
        ("b", "c", "m", 'a"\x00\ud800&' + "x" * 99, -1.0, -3.0, 2.0),
        ("d", "c", "m", "nothing", None, None, None),
    ]
    found = board_figure(pl.DataFrame(rows[:1] + rows[2:], schema=names, orient="row", strict=False))
    drawn = picture(found.value)  # type: ignore[union-attr]
    assert not [each for each in drawn.iter() if each.tag.endswith("script")]
    assert "<script>" in "".join(drawn.itertext())
    from metacog_assets.table_previews import _panel

    ElementTree.fromstring(f"<svg>{_panel('t', [row[3:] for row in rows[:2]], 0)}</svg>")  # type: ignore[misc]
    assert _panel("t", [("one", 0.0, 0.0, 0.0)], 0)
