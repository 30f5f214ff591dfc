"""Figures and their captions, the methods page, MetaMedQA's parts."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from metacog_pipeline import benchmarks, registry
from metacog_pipeline.report.figures import MOST_LINES, Point, ladder, lines
from metacog_pipeline.report.page import _write_methods, build_report

BENCHMARKS = Path(benchmarks.__file__).parent
NAMES = """
d′ meta-d′ M-ratio AUROC2 ECE Brier YFR NFR MMS MAS MS SAF CDTC Holm Wilson DeLong
"""
NASTY = '</figcaption></figure><script>alert(1)</script> & "$x^2$"'


def test_every_caption_says_how_many_and_by_which_method(make_home):
    source = build_report(make_home({"alpha": "measured", "toy": "simulated"})).read_text("utf-8")
    captions = re.findall(r'<span class="caption">(.*?)</span>', source)
    assert len(captions) == source.count("<figure>") > 0
    for caption in captions:
        assert re.search(r"; n (= \d+( to \d+)? \w+|not stated)\.$", caption), caption
        assert re.search("interval|[Pp]osterior", caption), caption


def test_the_methods_page_explains_every_headline_and_points_at_what_is_there(tmp_path):
    _write_methods(tmp_path, NASTY, registry.names())
    source = (tmp_path / "methods.html").read_text("utf-8")
    assert "<script" not in source and "url(" not in source and "src=" not in source
    ids = set(re.findall(r' id="([^"]+)"', source))
    assert set(re.findall(r'href="#([^"]+)"', source)) == ids
    text = re.sub(r"<[^>]+>", "", source)
    for name in NAMES.split():
        assert name in text, name
    assert set(registry.names()) <= ids


@pytest.mark.parametrize("names", [[], [1], list(range(1, 13))])
def test_any_number_of_models_and_steps_can_be_drawn(names):
    series = {f"m{n}": [(1 + n % 5, Point(0.5, 0.4, 0.6))] for n in names}
    drawn = lines(series, x="x", y="y", diagonal="l", span=(1, 5), apart=0.28)
    assert sum(f">m{n}<" in drawn for n in names) == min(len(names), MOST_LINES)
    steps = [f"s{n}" for n in range(12)]
    ElementTree.fromstring(ladder([("a", {step: Point(1.0) for step in steps})], steps=steps, x="x"))
