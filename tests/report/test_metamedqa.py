"""MetaMedQA on the page: d′ and criterion, system messages, the printed statements."""

import re
from collections.abc import Callable

from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.build import build
from metacog_pipeline.report.page import build_report
from tests import homes

MakeHome = Callable[..., Home]
RECALLS = {
    "accuracy": 0.5, "missing_answer_recall": 0.4, "unknown_recall": 0.2, "coverage": 1.0,
    "d_missing": 1.2, "d_unknown": 0.8, "d_unanswerable": 1.0, "c_unanswerable": 0.3, "false_alarm_E": 0.1,
}  # fmt: skip


def medical(make_home: MakeHome, write: Callable[..., None]) -> Home:
    home = make_home({"alpha": "measured"}, benchmark="metamedqa", silent=True)
    shared = {
        "benchmark": "metamedqa",
        "dataset": "published",
        "run": 1,
        "model": "alpha",
        "source": "measured",
    }
    told = {"n": 10, "n_failed": 0, "n_unreadable": 0, "coverage": 1.0, "method": "wilson", "status": "ok"}
    seen, estimates = [], []
    for condition in ("baseline", "role"):
        seen += [
            {**shared, "condition": condition, "item_id": f"i{i}", "position": i, "kind": "Original", "target": "A",
             "answer": "A" if i % 2 else "B", "confidence": 1 + i % 5, "correct": i % 2, "status": "ok", "mode": "text",
             "tags": [], "answer_ids": [f"{condition}{i}"]}
            for i in range(10)
        ]  # fmt: skip
        estimates += [
            {**shared, **told, "run": None, "condition": condition, "measure": name, "estimate": value,
             "low": value - 0.1, "high": value + 0.1}
            for name, value in RECALLS.items()
        ]  # fmt: skip
    test = {
        **shared, "measure": "accuracy", "family": "paired_conditions", "a": "role", "b": "baseline", "value": 0.125,
        "low": 0.025, "high": 0.225, "p": 0.01, "p_adjusted": 0.0123, "stars": "*", "n": 10, "note": "", "status": "ok",
    }  # fmt: skip
    write(home, "scored/metamedqa/**/*.parquet", seen)
    write(home, "estimates/metamedqa/models/*.parquet", estimates)
    write(home, "estimates/metamedqa/comparisons/*.parquet", [test])
    homes.print_numbers(home, "metamedqa")
    build(home)
    return home


def section(text: str, anchor: str) -> str:
    return text.split(f'<section id="{anchor}">')[1].split("</section>")[0]


def test_each_question_has_its_part_with_figures_and_numbers(make_home, write):
    index = build_report(medical(make_home, write))
    text = index.read_text("utf-8")
    seen = section(text, "metamedqa-seeing-that-there-is-no-answer")
    assert "<svg" in seen and "1.000" in seen and "0.900 to 1.100" in seen
    for measure in ("d′ of both (mean)", "c of both (mean)", "missing answer recall", "false alarm E"):
        assert measure in seen, measure
    prompts = section(text, "metamedqa-what-the-system-message-changes")
    assert "role - baseline" in prompts and "0.012" in prompts
    assert "MIT" in section(text, "metamedqa-sources-and-licences")
    paper = (index.parent / "papers" / "metamedqa" / "index.html").read_text("utf-8")
    assert re.search(r"29 of 36 printed numbers hold", section(paper, "metamedqa-printed-numbers"))
    assert "Models of this study" in section(paper, "table-4")
    assert "reworded" not in section(paper, "figure-1")
    for place in ("figure-2", "figure-3", "figure-4", "table-3", "table-4", "table-5"):
        assert "in other words" in section(paper, place), place
