"""``metacog fit``: any table of counts or trials in, every number with an interval or a status out, or one clear line."""

import json

import polars as pl
import pytest

from metacog_pipeline.stats.counts import counts
from metacog_pipeline.stats.metad import fit_metad
from metacog_pipeline.stats.type1 import type1
from tests.cli.conftest import file, metacog
from tests.cli.conftest import fitted as by_measure
from tests.observers import criteria_around, simulate_trials
from tests.tables import every

__all__ = ["file", "metacog"]  # fixtures
COUNTS = "who,nR_S1,nR_S2\nann,36;24;17;20;10;12;9;2,1;4;10;11;19;18;28;39\n"
SHAPE = (1.4, 0.8, 0.2, *criteria_around(0.8, 0.2, [0.4, 0.9]))
RIGHT = ("--correct", "right", "--confidence", "conf")
STIM = ("--stimulus", "stim", "--response", "resp", "--confidence", "conf")
JSON = ("--format", "json")


@pytest.fixture
def trials(tmp_path):
    """A frame of two people's trials, and the path it is written to as CSV, Parquet or JSON Lines."""
    parts = []
    for seed, who in enumerate(("ann", "bob")):
        drawn = simulate_trials(*SHAPE, 600, seed)
        columns = {"stim": drawn.stimulus, "resp": drawn.response, "conf": drawn.confidence}
        right = (drawn.stimulus == drawn.response).astype(int)
        parts.append(pl.DataFrame({**columns, "right": right, "who": [who] * 600}))
    frame = pl.concat(parts)

    def write(kind="csv", data=None):
        path, data = tmp_path / f"trials.{kind}", frame if data is None else data
        {"csv": data.write_csv, "parquet": data.write_parquet, "jsonl": data.write_ndjson}[kind](path)
        return path

    write.frame = frame
    return write


def rows_of(result):
    assert result.code == 0, result.err
    return json.loads(result.out)


def test_counts_are_fitted_and_their_other_columns_kept(metacog, file):
    found = by_measure(metacog("fit", file("counts.csv", COUNTS), *JSON), who="ann")
    table = counts([36, 24, 17, 20, 10, 12, 9, 2], [1, 4, 10, 11, 19, 18, 28, 39])
    assert found["d"]["value"] == pytest.approx(type1(table).d[0])
    assert found["meta_d"]["value"] == pytest.approx(fit_metad(table).meta_da[0])
    assert found["auroc2"]["value"] == pytest.approx(0.70967198, abs=1e-8)
    for row in found.values():
        assert row["low"] <= row["value"] <= row["high"] and row["status"] == "ok"
        assert row["n"] == 260 and row["dropped"] == 0


def test_correct_and_a_binary_response_are_as_good_as_the_stimulus(metacog, trials):
    path = trials()
    one = rows_of(metacog("fit", path, *STIM, *JSON))
    for more in (("--response", "resp"), ("--stimulus", "stim")):
        assert one == rows_of(metacog("fit", path, *RIGHT, *more, *JSON))


def test_answers_that_are_not_binary_are_fitted_as_choices_among_alternatives(metacog, trials):
    letters = trials.frame.with_columns(letter=pl.Series(list("ABCD") * 300))
    path = trials("parquet", letters)
    ways = (("--alternatives", "4"), ("--response", "letter", "--alternatives", "4"))
    fits = [by_measure(metacog("fit", path, *RIGHT, *extra, *JSON)) for extra in ways]
    assert fits[0] == fits[1]
    found = fits[0]
    assert "c" not in found and "m_ratio" not in found
    ratio = found["m_ratio_mafc"]
    assert ratio["status"] == "ok" and ratio["low"] < ratio["value"] < ratio["high"]
    assert "m 4" in ratio["method"]
    result = metacog("fit", path, *RIGHT, *JSON)
    found = by_measure(result)
    assert found["auroc2"]["status"] == "ok" and found["m_ratio_mafc"]["value"] is None
    assert "--alternatives" in result.err


@every(
    ("name", "content", "said"),
    [
        ("counts.csv", "nR_S1,nR_S2\n", "no row in it"),
        ("counts.csv", "a,b\n1,2\n", "nothing shows right from wrong"),
        ("counts.csv", "nR_S1,nR_S2\n1;2,1;2;3;4\n", "row 1"),
        ("counts.csv", "nR_S1,nR_S1,nR_S2\n1;2,3;4,1;2\n", "'nR_S1' is there twice"),
        ("counts.csv", "nR_S1,nR_S2\n1;2,3;4\n1;2;3,1;2;3\n", "row 2"),
        ("counts.csv", "nR_S1,nR_S2\n1;-2,1;2\n", "negative"),
        ("counts.csv", "nR_S1,nR_S2\n1;1e999,1;2\n", "finite"),
        ("counts.csv", "nR_S1,nR_S2\n1;1e30,1;2\n", "above 1e+15"),
        ("counts.csv", "nR_S1,nR_S2\none;two,1;2\n", "'one;two'"),
        ("counts.csv", "nR_S1,nR_S2\n,1;2\n", "row 1"),
        ("counts.csv", "nR_S1,nR_S2\n1;2,1;2,7,8\n", "4 cells, the header 2"),
        ("counts.csv", b"nR_S1,nR_S2\n\xff\xfe\x00;2,1;2\n", "counts.csv"),
        ("counts.jsonl", '{"nR_S1": [1, {"a": 2}], "nR_S2": [1, 2]}\n', "row 1"),
        ("counts.json", "{}", "list of objects"),
        ("counts.xlsx", "x", "rename or convert"),
    ],
)
def test_files_that_hold_no_counts_are_refused_in_one_line(metacog, file, name, content, said):
    metacog("fit", file(name, content)).refused_in_one_line(said)


@every(
    ("options", "said"),
    [
        (("--stimulus", "nope", "--response", "resp", "--confidence", "conf"), "no column 'nope'"),
        (("--correct", "Right", "--confidence", "conf"), "no column 'Right' (did you mean \"right\"?)"),
        ((*STIM, "--group", "nope"), "no column 'nope'"),
        (("--stimulus", "who", "--response", "resp", "--confidence", "conf"), "which of them are the same"),
        (("--stimulus", "stim", "--response", "resp", "--confidence", "who"), "no number"),
        (("--correct", "who", "--confidence", "conf"), "'who'"),
        ((*STIM, "--group"), "the hierarchical model needs a column of subjects"),
        ((*RIGHT, "--subject", "who", "--group"), "needs stimulus and response"),
        ((*RIGHT, "--alternatives", "1"), "from 2 to 10"),
        ((*RIGHT, "--alternatives", "11"), "from 2 to 10"),
        ((*RIGHT, "--map-values", "high"), "--map-values high"),
        ((*RIGHT, "--scale", "high"), "--scale high"),
        ((*RIGHT, "--scale", "0..1"), "outside 0..1"),
    ],
)
def test_options_that_do_not_fit_are_refused_in_one_line(metacog, trials, options, said):
    metacog("fit", trials(), *options).refused_in_one_line(said)


def test_a_ratio_to_a_sensitivity_that_may_be_0_is_not_shown_and_few_answers_are_marked(metacog, file):
    path = file(
        "counts.csv",
        "cell,nR_S1,nR_S2\nchance,70;68;64;66;66;66,66;66;66;66;67;69\nsure,90;60;20;15;8;4,5;9;14;22;58;88\n"
        "tiny,9;2;0;0;1;1,1;1;0;0;2;9\nmany,900;200;9;9;100;100,100;100;9;9;200;900\n",
    )
    found = {(row["cell"], row["measure"]): row for row in rows_of(metacog("fit", path, *JSON))}
    for measure in ("m_ratio", "c_prime"):
        chance, sure = found["chance", measure], found["sure", measure]
        assert (chance["value"], chance["low"], chance["status"]) == (None, None, "d' may be 0")
        assert sure["low"] < sure["value"] < sure["high"] and sure["status"] == "ok"
    assert found["chance", "m_diff"]["value"] is not None
    assert found["tiny", "c"]["low_n"] and not found["many", "c"]["low_n"]
    assert not found["many", "accuracy"]["low_n"]
