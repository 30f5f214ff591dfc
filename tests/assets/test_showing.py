"""What models wrote is shown as text, whatever it is."""

from __future__ import annotations

import base64
import re

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from metacog_assets.showing import PREVIEW_ROWS, calibration_plot, preview

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


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_in_its_cell(text: str) -> None:
    html = rendered(
        preview(pl.DataFrame({"answer": [text.encode("utf-8", "replace").decode()], "n": [1]})).value
    )
    assert set(re.findall(r"<(\w+)", html)) <= {"table", "thead", "tbody", "tr", "th", "td"}
    assert html.count("<tr>") == 2
    assert html.count("<td>") == 2


def test_bare_addresses_do_not_become_links() -> None:
    shown = preview(
        pl.DataFrame({"answer": ["see https://evil.example www.evil.example me@evil.example"]})
    ).value
    for address in ("https://", "www.evil", "me@"):
        assert address not in shown
    assert "https://evil.example www.evil.example me@evil.example" in rendered(shown)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(max_size=200), min_size=1, max_size=3))
def test_any_text_gives_one_row_each_and_no_markup(texts: list[str]) -> None:
    html = rendered(
        preview(pl.DataFrame({"answer": [t.encode("utf-8", "replace").decode() for t in texts]})).value
    )
    assert set(re.findall(r"<(\w+)", html)) <= {"table", "thead", "tbody", "tr", "th", "td"}
    assert html.count("<tr>") == len(texts) + 1


def test_long_text_is_cut_visibly_and_many_rows_are_counted() -> None:
    shown = preview(pl.DataFrame({"answer": ["x" * 10_000] * (PREVIEW_ROWS + 5)})).value
    assert len(shown) < 5_000
    assert "…" in shown
    assert "5 more rows" in shown


@pytest.mark.parametrize(
    ("confidence", "marks"), [([], 0), ([1.0, 1.0, 0.25], 2), ([n / 99 for n in range(100)], 10)]
)
def test_the_plot_is_a_picture_of_levels_even_without_a_single_answer(
    confidence: list[float], marks: int
) -> None:
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
