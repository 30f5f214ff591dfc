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


def medical(make_home: MakeHome, write: Callable[..., None], models: dict[str, str]) -> Home:
    home = make_home(models, benchmark="metamedqa", silent=True)
    shared = {"benchmark": "metamedqa", "dataset": "published", "run": 1}
    told = {"n": 10, "n_failed": 0, "n_unreadable": 0, "coverage": 1.0, "method": "wilson", "status": "ok"}
    seen, estimates, tests = [], [], []
    for model, source in models.items():
        for i in range(10):
            for condition in ("baseline", "role"):
                seen.append(
                    {**shared, "condition": condition, "model": model, "item_id": f"i{i}", "position": i,
                     "kind": "Original", "target": "A", "answer": "A" if i % 2 else "B", "confidence": 1 + i % 5,
                     "correct": i % 2, "status": "ok", "mode": "text", "source": source, "tags": [],
                     "answer_ids": [f"{model}{condition}{i}"]}
                )  # fmt: skip
        for condition in ("baseline", "role"):
            estimates += [
                {**shared, **told, "run": None, "condition": condition, "model": model, "source": source,
                 "measure": name, "estimate": value, "low": value - 0.1, "high": value + 0.1}
                for name, value in RECALLS.items()
            ]  # fmt: skip
        tests.append(
            {"benchmark": "metamedqa", "dataset": "published", "source": source, "model": model, "measure": "accuracy",
             "family": "paired_conditions", "a": "role", "b": "baseline", "value": 0.125, "low": 0.025,
             "high": 0.225, "p": 0.01, "p_adjusted": 0.0123, "stars": "*", "n": 10, "note": "", "status": "ok"}
        )  # fmt: skip
    write(home, "scored/metamedqa/**/*.parquet", seen)
    write(home, "estimates/metamedqa/models/*.parquet", estimates)
    write(home, "estimates/metamedqa/comparisons/*.parquet", tests)
    homes.print_numbers(home, "metamedqa")
    build(home)
    return home


def section(text: str, anchor: str) -> str:
    return text.split(f'<section id="{anchor}">')[1].split("</section>")[0]


def test_each_question_has_its_part_with_figures_and_numbers(make_home, write):
    index = build_report(medical(make_home, write, {"alpha": "measured"}))
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


def test_printed_values_are_on_the_axis_of_models_and_never_of_simulated_respondents(make_home, write):
    home = medical(make_home, write, {"alpha": "measured", "toy": "simulated"})
    text = build_report(home).read_text("utf-8")
    paper = (home.report / "papers" / "metamedqa" / "index.html").read_text("utf-8")
    drawn = re.findall(r"<svg.*?</svg>", paper, re.DOTALL)
    assert any("alpha" in each and "as printed" in each for each in drawn)
    pieces = re.findall(r"<svg.*?</svg>|<table.*?</table>", text + paper, re.DOTALL)
    assert sum("toy" in piece for piece in pieces) >= 4
    assert not any("toy" in piece and ("alpha" in piece or "as printed" in piece) for piece in pieces)


def test_nothing_answered_yet_says_so(make_home):
    text = build_report(make_home(benchmark="metamedqa", silent=True)).read_text("utf-8")
    seen, prompts = "metamedqa-seeing-that-there-is-no-answer", "metamedqa-what-the-system-message-changes"
    assert "No model of this study was asked this." in section(text, seen)
    assert "Asked under one system message only." in section(text, prompts)
