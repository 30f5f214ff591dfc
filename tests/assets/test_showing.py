"""What models wrote is shown as text, whatever it is."""

import base64
import re
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from metacog_assets import parts
from metacog_assets.showing import PREVIEW_ROWS, calibration_plot, preview
from tests.tables import every

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "![x](http://evil.example/a.png)",
    "[click](javascript:alert(1))",
    "| a | b |\n| --- | --- |",
    "`code` **bold** __under__ ~~gone~~",
    "# heading",
    "http://evil.example/auto",
    "a\x00b\x1b[31mred",
    "\ud800 lone",
    "\\",
    "\\|",
    "&lt;b&gt; &#60;b&#62;",
    "$x$ ~ ^",
    "\u202egnp.exe",
]


def rendered(text: str) -> str:
    return str(MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(text))


@every("text", HOSTILE)
def test_hostile_text_stays_in_its_cell(text):
    html = rendered(
        preview(pl.DataFrame({"answer": [text.encode("utf-8", "replace").decode()], "n": [1]})).value
    )
    assert set(re.findall(r"<(\w+)", html)) <= {"table", "thead", "tbody", "tr", "th", "td"}
    assert html.count("<tr>") == 2
    assert html.count("<td>") == 2


def test_bare_addresses_do_not_become_links():
    shown = preview(
        pl.DataFrame({"answer": ["see https://evil.example www.evil.example me@evil.example"]})
    ).value
    for address in ("https://", "www.evil", "me@"):
        assert address not in shown
    assert "https://evil.example www.evil.example me@evil.example" in rendered(shown)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(max_size=200), min_size=1, max_size=3))
def test_any_text_gives_one_row_each_and_no_markup(texts):
    html = rendered(
        preview(pl.DataFrame({"answer": [t.encode("utf-8", "replace").decode() for t in texts]})).value
    )
    assert set(re.findall(r"<(\w+)", html)) <= {"table", "thead", "tbody", "tr", "th", "td"}
    assert html.count("<tr>") == len(texts) + 1


def test_long_text_is_cut_visibly_and_many_rows_are_counted():
    shown = preview(pl.DataFrame({"answer": ["x" * 10_000] * (PREVIEW_ROWS + 5)})).value
    assert len(shown) < 5_000
    assert "…" in shown
    assert "5 more rows" in shown


@pytest.mark.parametrize(
    ("confidence", "marks"), [([], 0), ([1.0, 1.0, 0.25], 2), ([n / 99 for n in range(100)], 10)]
)
def test_the_plot_is_a_picture_of_levels_even_without_a_single_answer(confidence, marks):
    answers = pl.DataFrame(
        {"confidence": confidence, "correct": [1.0] * len(confidence)},
        schema={"confidence": pl.Float64, "correct": pl.Float64},
    )
    found = re.fullmatch(
        r"!\[[^\]]*\]\(data:image/svg\+xml;base64,([^)]+)\)", calibration_plot(answers).value
    )
    assert found
    drawn = base64.b64decode(found[1]).decode()
    assert drawn.startswith("<svg ") and drawn.count("<circle") == marks


def test_of_many_models_only_the_files_a_preview_shows_are_read(tmp_path, monkeypatch):
    read: list[Path] = []

    def counted(path: Path) -> pl.DataFrame:
        read.append(path)
        return pl.read_parquet(path)

    monkeypatch.setattr(parts, "read_frame", counted)
    for place in range(40):
        pl.DataFrame({"model": [f"m{place}"] * 4}).write_parquet(tmp_path / f"m{place:02d}.parquet")
    made = parts._shown(tmp_path)
    assert made[parts.ROWS] == 160
    shown = made["preview"].value
    assert "m2" in str(shown) and "150 more rows" in str(shown) and len(read) == 3
    (tmp_path / "m00.parquet").write_bytes(b"torn")
    with pytest.raises(pl.exceptions.ComputeError):
        parts._shown(tmp_path)
