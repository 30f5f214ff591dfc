"""``metacog fit``: any table of counts or trials in, every number with an interval or a status out."""

import csv
import io
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


RIGHT = ("--correct", "right", "--confidence", "conf")
STIM = ("--stimulus", "stim", "--response", "resp", "--confidence", "conf")


def test_counts_are_fitted_and_their_other_columns_kept(metacog, file):
    found = by_measure(metacog("fit", file("counts.csv", COUNTS), "--format", "json"), who="ann")
    table = counts([36, 24, 17, 20, 10, 12, 9, 2], [1, 4, 10, 11, 19, 18, 28, 39])
    assert found["d"]["value"] == pytest.approx(type1(table).d[0])
    assert found["meta_d"]["value"] == pytest.approx(fit_metad(table).meta_da[0])
    assert found["auroc2"]["value"] == pytest.approx(0.70967198, abs=1e-8)
    for row in found.values():
        assert row["low"] <= row["value"] <= row["high"] and row["status"] == "ok"
        assert row["n"] == 260 and row["dropped"] == 0


def test_padding_is_used_only_when_asked_for_and_named(metacog, file):
    path = file("counts.csv", "nR_S1,nR_S2\n9;4;4;2;0;0,0;1;3;4;5;6\n")
    raw = by_measure(metacog("fit", path, "--format", "json"))
    more = by_measure(metacog("fit", path, "--padding", "auto", "--format", "json"))
    same = by_measure(metacog("fit", path, "--padding", str(1 / 6), "--format", "json"))
    assert more["meta_d"]["value"] == pytest.approx(same["meta_d"]["value"])
    assert "0.16" in more["meta_d"]["method"] and "pad" in more["d"]["method"]
    assert "none" in raw["d"]["method"] and raw["d"]["value"] != more["d"]["value"]
    assert raw["d"]["n"] == more["d"]["n"] == 38
    assert raw["auroc2"] == more["auroc2"]


def test_correct_and_a_binary_response_are_as_good_as_the_stimulus(metacog, trials):
    path = trials()
    one = rows_of(metacog("fit", path, *STIM, "--format", "json"))
    for more in (("--response", "resp"), ("--stimulus", "stim")):
        other = metacog("fit", path, *RIGHT, *more, "--format", "json")
        assert one == rows_of(other)


def test_labels_say_which_answer_is_which(metacog, trials):
    renamed = trials.frame.with_columns(
        pl.col("stim", "resp").replace_strict({0: "Old ", 1: "new"}, return_dtype=pl.String)
    )
    plain = rows_of(metacog("fit", trials(), *STIM, "--format", "json"))
    path = trials("csv", renamed)
    assert rows_of(metacog("fit", path, *STIM, "--labels", "old,new", "--format", "json")) == plain
    swapped = by_measure(metacog("fit", path, *STIM, "--labels", "new,old", "--format", "json"))
    before = {row["measure"]: row for row in plain}
    assert swapped["c"]["value"] == pytest.approx(-before["c"]["value"])
    assert swapped["meta_d"]["value"] == pytest.approx(before["meta_d"]["value"], abs=1e-6)
    assert "stim (new = S1, Old = S2)" in metacog("fit", path, *STIM, "--preview").err


def test_answers_that_are_not_binary_are_fitted_as_choices_among_alternatives(metacog, trials):
    letters = trials.frame.with_columns(letter=pl.Series(list("ABCD") * 300))
    path = trials("parquet", letters)
    ways = (("--alternatives", "4"), ("--response", "letter", "--alternatives", "4"))
    fits = [by_measure(metacog("fit", path, *RIGHT, *extra, "--format", "json")) for extra in ways]
    assert fits[0] == fits[1]
    found = fits[0]
    assert "c" not in found and "m_ratio" not in found
    ratio = found["m_ratio_mafc"]
    assert ratio["status"] == "ok" and ratio["low"] < ratio["value"] < ratio["high"]
    assert found["d_mafc"]["value"] < fits[0]["d_mafc"]["high"]
    assert "m 4" in ratio["method"]


def test_without_a_number_of_alternatives_there_is_an_area_and_a_reason(metacog, trials):
    result = metacog("fit", trials(), *RIGHT, "--format", "json")
    found = by_measure(result)
    assert found["auroc2"]["status"] == "ok" and found["m_ratio_mafc"]["value"] is None
    assert "--alternatives" in result.err


@pytest.mark.parametrize("m", ["1", "11"])
def test_alternatives_outside_two_to_ten_are_refused(metacog, trials, m):
    made = metacog("fit", trials(), *RIGHT, "--alternatives", m)
    made.refused_in_one_line(f"--alternatives is {m}", "from 2 to 10")


def test_unusable_trials_are_dropped_and_counted(metacog, trials):
    spoiled = trials.frame.with_columns(
        pl.when(pl.int_range(pl.len()) < 5).then(None).otherwise("stim").alias("stim"),
        pl.when(pl.int_range(pl.len()) == 9).then(7).otherwise("conf").alias("conf"),
    )
    path = trials("csv", spoiled)
    result = metacog("fit", path, *STIM, "--ratings", "3", "--group", "who", "--format", "json")
    found = by_measure(result, who="ann")
    assert (found["d"]["n"], found["d"]["dropped"]) == (594, 6)
    assert by_measure(result, who="bob")["d"]["dropped"] == 0
    assert "1,200 rows read, 1,194 used, 6 left out: stim missing 5, conf is no rating 1..3 1" in result.err


def test_degenerate_cells_have_statuses_and_cost_the_others_nothing(metacog, file):
    body = "kind,nR_S1,nR_S2\nperfect,30;20;0;0,0;0;9;22\nempty,0;0;0;0,0;0;0;0\none class,0;0;0;0,3;7;8;12\n"
    body += (
        "chance,5;5;5;5,5;5;5;5\none rating,0;9;4;0,0;3;8;0\nno ratings,8;2,3;7\nfine,30;20;9;4,3;9;22;31\n"
    )
    result = metacog("fit", file("counts.csv", body), "--bootstrap", "50", "--format", "json")
    rows = rows_of(result)
    assert {row["kind"] for row in rows} == {line.split(",")[0] for line in body.splitlines()[1:]}
    for row in rows:
        assert row["value"] is not None or row["status"] != "ok"
        assert row["low"] is not None or row["status"] != "ok"
    assert by_measure(result, kind="fine")["meta_d"]["status"] == "ok"
    assert by_measure(result, kind="perfect")["meta_d"]["value"] is None


def test_formats_hold_the_same_rows_and_a_file_is_never_overwritten(metacog, file, tmp_path):
    path = file("counts.csv", COUNTS)
    as_json = rows_of(metacog("fit", path, "--format", "json"))
    as_csv = list(csv.DictReader(io.StringIO(metacog("fit", path, "--format", "csv").out)))
    assert [row["measure"] for row in as_csv] == [row["measure"] for row in as_json]
    assert [float(row["value"]) for row in as_csv] == [row["value"] for row in as_json]
    assert "m_ratio" in metacog("fit", path).out
    output = tmp_path / "out.json"
    result = metacog("fit", path, "--format", "json", "--output", output)
    assert (result.code, result.out) == (0, "") and json.loads(output.read_text()) == as_json
    metacog("fit", path, "--output", output).refused_in_one_line("exists already")
    metacog("fit", path, "--output", path / "below").refused_in_one_line("cannot be written")


@every(
    ("name", "content", "said"),
    [
        ("counts.csv", "nR_S1,nR_S2\n", "no row in it"),
        ("counts.csv", "a,b\n1,2\n", "nothing shows right from wrong"),
        ("counts.csv", "nR_S1,nR_S2\n1;2,1;2;3;4\n", "row 1"),
        ("counts.csv", "nR_S1,nR_S1,nR_S2\n1;2,3;4,1;2\n", "'nR_S1' is there twice"),
        ("counts.csv", "nR_S1,nR_S2\n1;2,3;4\n1;2;3,1;2;3\n", "row 2"),
        ("counts.csv", "nR_S1,nR_S2\n1;-2,1;2\n", "negative"),
        ("counts.csv", "nR_S1,nR_S2\n1;nan,1;2\n", "finite"),
        ("counts.csv", "nR_S1,nR_S2\n1;1e999,1;2\n", "finite"),
        ("counts.csv", "nR_S1,nR_S2\n1;1e30,1;2\n", "above 1e+15"),
        ("counts.csv", "nR_S1,nR_S2\none;two,1;2\n", "'one;two'"),
        ("counts.csv", "nR_S1,nR_S2\n,1;2\n", "row 1"),
        ("counts.csv", "nR_S1,nR_S2\n1;2,1;2,7,8\n", "4 cells, the header 2"),
        ("counts.csv", 'nR_S1,nR_S2\n"' + "9" * 10_000_000 + '",1;2\n', "row 1"),
        ("counts.csv", b"nR_S1,nR_S2\n\xff\xfe\x00;2,1;2\n", "counts.csv"),
        ("counts.csv", "nR_S1_1,nR_S1_2,nR_S2_1\n1,2,3\n", "numbered alike"),
        ("counts.csv", "nR_S1_1,nR_S1_9,nR_S2_1,nR_S2_9\n1,2,3,4\n", "without gaps"),
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
        ((*STIM, "--group", "nope"), "no column 'nope'"),
        ((*STIM, "--ratings", "4", "--bins", "4"), "--ratings and --bins"),
        (("--stimulus", "who", "--response", "resp", "--confidence", "conf"), "which of them are the same"),
        (("--stimulus", "stim", "--response", "resp", "--confidence", "who"), "no number"),
        (("--correct", "who", "--confidence", "conf"), "'who'"),
        ((*STIM, "--group"), "the hierarchical model needs a column of subjects"),
        ((*RIGHT, "--subject", "who", "--group"), "needs stimulus and response"),
        ((*STIM, "--labels", "a"), "--labels a"),
        ((*STIM, "--labels", "a,A"), "--labels"),
        ((*STIM, "--padding", "x"), "number from 0 to 1000, or none, auto"),
        ((*STIM, "--padding", "-1"), "-1.0 is not in the range 0<=x<=1000"),
        ((*STIM, "--padding", "nan"), "nan' is not a valid number"),
        ((*RIGHT, "--padding", "auto"), "needs a binary response"),
    ],
)
def test_options_that_do_not_fit_together_are_refused_in_one_line(metacog, trials, options, said):
    metacog("fit", trials(), *options).refused_in_one_line(said)


def test_one_item_alone_has_no_interval_and_every_number_says_so(metacog, tmp_path):
    path = tmp_path / "one.csv"
    path.write_text("ok,conf,item\n1,5,q\n0,1,q\n")
    given = ("--correct", "ok", "--confidence", "conf", "--scale", "1..5", "--item", "item")
    found = by_measure(metacog("fit", path, *given, "--format", "json"))
    silent = [name for name, row in found.items() if row["status"] == "ok" and row["low"] is None]
    assert silent == []
    assert found["ece"]["status"] == found["brier"]["status"] == "single item"


def test_a_ratio_to_a_sensitivity_that_may_be_0_is_not_shown_and_says_why(metacog, tmp_path):
    file = tmp_path / "counts.csv"
    file.write_text(
        "cell,nR_S1,nR_S2\nchance,70;68;64;66;66;66,66;66;66;66;67;69\nsure,90;60;20;15;8;4,5;9;14;22;58;88\n"
    )
    rows = json.loads(metacog("fit", file, "--bayes", "--format", "json").out)
    found = {(row["cell"], row["measure"]): row for row in rows}
    for measure in ("m_ratio", "c_prime", "bayes_m_ratio"):
        chance, sure = found["chance", measure], found["sure", measure]
        assert (chance["value"], chance["low"], chance["status"]) == (None, None, "d' may be 0")
        assert sure["low"] < sure["value"] < sure["high"] and sure["status"] == "ok"
    assert found["chance", "m_diff"]["value"] is not None


def test_a_cell_of_few_answers_is_marked(metacog, tmp_path):
    file = tmp_path / "counts.csv"
    file.write_text("cell,nR_S1,nR_S2\ntiny,9;2;1;1,1;1;2;9\nmany,900;200;100;100,100;100;200;900\n")
    rows = json.loads(metacog("fit", file, "--format", "json").out)
    marked = {(row["cell"], row["measure"]): row["low_n"] for row in rows}
    assert marked["tiny", "c"] and not marked["many", "c"] and not marked["many", "accuracy"]
