"""``metacog fit`` of tables as other programs write them: columns, words, scales, wide tables, items, what is left out."""

import gzip
import json

import numpy as np
import polars as pl
import pytest

from metacog_pipeline.stats.calibration import ece
from tests.cli.conftest import file, metacog
from tests.cli.conftest import fitted as found

__all__ = ["file", "metacog"]  # fixtures

OK_CONF = ("--correct", "ok", "--confidence", "conf", "--format", "json")
N = 240


def answers(n=N, seed=0, **more):
    """Return a frame of answers: model, item, confidence 0..1 in tenths, right or wrong."""
    rng = np.random.default_rng(seed)
    ok = (rng.random(n) < 0.7).astype(int)
    conf = np.round(np.clip(rng.normal(0.5 + 0.2 * ok, 0.2), 0, 1), 1)
    model = np.where(np.arange(n) % 2 == 0, "a", "b")
    return pl.DataFrame({"model": model, "item": np.arange(n) // 2, "conf": conf, "ok": ok, **more})


def written(tmp_path, frame, kind):
    path = tmp_path / f"t{kind}"
    between = "\t" if ".tsv" in kind else ","
    text = frame.write_ndjson() if "json" in kind else frame.write_csv(separator=between)
    if kind == ".parquet":
        frame.write_parquet(path)
    else:
        path.write_bytes(gzip.compress(text.encode()) if kind.endswith(".gz") else text.encode())
    return path


def test_what_is_left_out_is_counted_by_reason_and_listed(metacog, tmp_path):
    frame = answers().with_columns(pl.col("conf", "ok").cast(pl.String))
    odd = {2: "n/a", 5: "", 7: "about 0.8", 9: "inf", 11: "1e308", 13: "0,85", 17: "NaN"}
    conf = [odd.get(place, value) for place, value in enumerate(frame["conf"])]
    ok = ["maybe" if place == 20 else value for place, value in enumerate(frame["ok"])]
    path = written(tmp_path, frame.with_columns(conf=pl.Series(conf), ok=pl.Series(ok)), ".csv")
    result = metacog("fit", path, *OK_CONF)
    assert "240 rows read, 232 used, 8 left out" in result.err
    assert all(said in result.err for said in ("conf missing 3", "conf is no number 2", "right/yes 1"))
    assert found(result)["accuracy"]["dropped"] == 8
    listed = [line.split(": ", 2) for line in result.err.splitlines() if ": line " in line]
    assert [place for _, place, _ in listed] == [f"line {number}" for number in (9, 11, 13, 15, 22)]
    assert "'about 0.8' is no number" in listed[0][2] and "'maybe' is neither" in listed[4][2]


def test_calibration_needs_a_scale_that_is_declared_or_the_only_usual_one(metacog, tmp_path):
    frame = answers()
    path = written(tmp_path, frame, ".csv")
    result = metacog("fit", path, *OK_CONF)
    made = found(result)
    assert made["aurc"]["status"] == "ok"
    for name in ("brier", "calibration_in_the_large", "mean_confidence"):
        assert made[name]["value"] is None and "0..1, 0..10 and 0..100 fit" in made[name]["status"]
    assert "no calibration" in result.err
    known = found(metacog("fit", path, *OK_CONF, "--scale", "0..1"))
    assert known["brier"]["value"] == pytest.approx(((frame["conf"] - frame["ok"]) ** 2).mean())
    assert known["ece"]["value"] == pytest.approx(ece(frame["conf"].to_numpy(), frame["ok"].to_numpy()).value)
    assert known["mean_confidence"]["value"] == pytest.approx(frame["conf"].mean())
    for row in known.values():
        assert row["status"] != "ok" or row["low"] <= row["value"] <= row["high"]
    percent = written(tmp_path, frame.with_columns(pl.col("conf") * 100), ".tsv")
    result = metacog("fit", percent, *OK_CONF)
    assert found(result)["brier"]["value"] == pytest.approx(known["brier"]["value"])
    assert "confidence on 0..100, the only usual scale it fits" in result.err


def database(subjects=8, n=60, seed=3, answered="Response", scales=(4,)):
    """Return a table in the layout of the Confidence Database: some rows without an answer, scales by subject."""
    rng = np.random.default_rng(seed)
    rows = []
    for subject in range(subjects):
        s = rng.integers(0, 2, n)
        x = rng.normal(1.4 * (s - 0.5), 1)
        top = scales[subject % len(scales)]
        sure = np.clip(np.ceil(np.abs(x + rng.normal(0, 0.5, n)) * 2), 1, 4) * top / 4
        for i in range(n):
            lost = rng.random() < 0.05
            rows.append((f"s{subject}", s[i] + 1, "NaN" if lost else int(x[i] > 0) + 1, sure[i], 0.5))
    return pl.DataFrame(
        rows, ["Subj_idx", "Stimulus", answered, "Confidence", "RT_dec"], orient="row", strict=False
    )


@pytest.mark.proof
def test_a_public_database_is_fitted_in_one_command_by_subject_on_average_and_as_a_group(metacog, tmp_path):
    frame = database()
    path = written(tmp_path, frame, ".csv")
    result = metacog("fit", path, "--group", "--format", "json")
    assert "subject = Subj_idx (8); stimulus = Stimulus (1 = S1, 2 = S2)" in result.err
    assert "Response missing" in result.err and "columns not used: RT_dec" in result.err
    rows = json.loads(result.out)
    assert {row["level"] for row in rows} == {"subject", "average", "group"}
    values = [row["value"] for row in rows if row["level"] == "subject" and row["measure"] == "d"]
    mean, model = (found(result, Subj_idx=None, level=level) for level in ("average", "group"))
    assert mean["d"]["value"] == pytest.approx(np.mean(values)) and mean["d"]["n"] == 8
    half = 2.364624 * np.std(values, ddof=1) / np.sqrt(8)
    assert mean["d"]["high"] == pytest.approx(mean["d"]["value"] + half, rel=1e-5)
    assert model["m_ratio"]["low"] < model["m_ratio"]["value"] < model["m_ratio"]["high"]
    assert model["d"]["value"] == pytest.approx(mean["d"]["value"], abs=0.25)
    pooled = found(metacog("fit", path, "--subject", "none", "--format", "json"))
    assert pooled["d"]["n"] == sum(
        row["n"] for row in rows if row["level"] == "subject" and row["measure"] == "d"
    )


def test_an_average_of_few_or_of_subjects_most_of_whom_have_no_value_is_withheld(metacog, tmp_path):
    few = metacog("fit", written(tmp_path, database(6, 14), ".csv"), "--format", "json")
    made = found(few, level="average")
    assert made["m_ratio"]["value"] is None and "of 6 subjects have a value" in made["m_ratio"]["status"]
    assert made["accuracy"]["value"] is not None and made["accuracy"]["low_n"]
    assert "no M-ratio for" in few.err and "fewer than five right or wrong answers" in few.err


def test_a_preview_says_what_is_taken_for_what_and_fits_nothing(metacog, tmp_path):
    result = metacog("fit", written(tmp_path, database(), ".csv"), "--preview")
    assert (result.code, result.out) == (0, "") and "confidence = Confidence" in result.err


def test_a_stimulus_that_names_pictures_gives_way_to_the_right_answer(metacog, tmp_path):
    frame = database().rename({"Stimulus": "correct_response"})
    frame = frame.with_columns(Stimulus=pl.format("picture {}", pl.int_range(pl.len())))
    result = metacog("fit", written(tmp_path, frame, ".csv"), "--preview")
    assert "stimulus = correct_response (1 = S1, 2 = S2)" in result.err
    assert "columns not used: RT_dec, Stimulus" in result.err
