"""Two models against each other: the study's own tests of the pair, turned to the order they are chosen in."""

import json
import re
from collections.abc import Callable
from pathlib import Path

from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.build import build
from metacog_pipeline.report import compare
from metacog_pipeline.report.pieces import Part

HOSTILE = "</script><script>window.hacked = 1</script>"


def compared(a: str, b: str, source: str = "measured", **other: object) -> dict[str, object]:
    return {
        "benchmark": "signaldetection", "dataset": "published", "task": "A", "condition": "A confidence", "source": source,
        "family": "models_paired", "measure": "m_ratio", "a": a, "b": b, "value": 0.5, "low": 0.25, "high": 0.75,
        "p": 0.001, "p_adjusted": 0.002, "n": 90, "verdict": "significant", "status": "ok", "primary": True, **other,
    }  # fmt: skip


def with_tests(home: Home, write: Callable[..., None], *rows: dict[str, object]) -> Home:
    write(home, "estimates/signaldetection/comparisons/*.parquet", rows)
    build(home)
    return home


def pairs(report: Path) -> dict[str, list[list[object]]]:
    found = {}
    for path in (report / compare.FOLDER).glob("*.js"):
        text = path.read_text("utf-8")
        match = re.fullmatch(r"pairs\((.*)\);\n", text, re.DOTALL)
        assert match and "<" not in text
        found[path.name] = json.loads(f"[{match[1]}]")[1]
    return found


def told(part: Part, row: list[object]) -> dict[str, object]:
    """Return a test as the page reads it: what its kind has in common, which the page holds, and its own values."""
    given = json.loads(re.search(r'id="comparison"[^>]*>(.*?)</script>', str(part.body), re.DOTALL)[1])
    assert given["columns"] == list(compare.COLUMNS)
    return given["kinds"][row[2]] | dict(zip(compare.COLUMNS, row[3:], strict=True))


def test_every_test_between_two_models_lies_in_the_file_of_the_first_of_them(make_home, write, tmp_path):
    home = make_home({"alpha": "measured", "beta": "measured", "toy": "simulated"})
    one_condition = compared("risk_s1", "risk_none", model="alpha", family="criterion_z")
    with_tests(home, write, compared("beta", "alpha"), compared("alpha", "beta", family="mcnemar", primary=False),
               compared("beta", "gone"), one_condition)  # fmt: skip
    (part,) = compare.parts(home, tmp_path)
    ((name, rows),) = pairs(tmp_path).items()
    assert name == "pairs-0.js" and [row[:2] for row in rows] == [[1, 0], [0, 1]]
    assert told(part, rows[0]) == {
        "benchmark": "signaldetection", "family": "models_paired", "measure": "M-ratio", "better": True,
        "under": "published, A, A confidence", "primary": True, "value": 0.5, "low": 0.25, "high": 0.75, "p": 0.002,
        "n": 90, "verdict": "significant", "status": None, "note": None, "items": None,
    }  # fmt: skip
    assert ">alpha</option>" in part.body and ">toy</option>" not in part.body


def test_a_test_leads_to_the_items_on_which_models_disagree(make_home, write, tmp_path):
    home = with_tests(make_home({"alpha": "measured", "beta": "measured"}), write, compared("alpha", "beta"))
    (part,) = compare.parts(home, tmp_path, frozenset(("alpha", "beta")))
    ((row,),) = pairs(tmp_path).values()
    address = "explore/index.html#benchmark=signaldetection&which=disagree&condition=A+confidence"
    assert told(part, row)["items"] == address


def test_where_no_two_models_were_tested_there_is_no_choice_and_no_old_file(make_home, tmp_path):
    folder = tmp_path / compare.FOLDER
    folder.mkdir()
    (folder / "pairs-7.js").write_text("pairs(7, []);")
    assert list(compare.parts(make_home(), tmp_path)) == [] and list(folder.iterdir()) == []


def test_a_difference_without_bounds_is_left_out_and_the_rest_stays(make_home, write, tmp_path):
    home = make_home({"alpha": "measured", "beta": "measured"})
    with_tests(
        home, write, compared("alpha", "beta", low=float("-inf"), high=float("inf"), p=0.2, p_adjusted=0.4)
    )
    (part,) = compare.parts(home, tmp_path)
    ((row,),) = pairs(tmp_path).values()
    found = told(part, row)
    assert (found["value"], found["low"], found["high"]) == (0.5, None, None)


def test_hostile_names_and_notes_stay_text(make_home, write, tmp_path):
    home = make_home({"alpha": "measured", HOSTILE: "measured"})
    with_tests(home, write, compared("alpha", HOSTILE, note=HOSTILE, value=None, low=None, high=None))
    (part,) = compare.parts(home, tmp_path)
    assert part.body.count("<script") == part.body.count("</script>") == 1
    (rows,) = pairs(tmp_path).values()
    assert rows[0][-1] == HOSTILE and told(part, rows[0])["value"] is None
