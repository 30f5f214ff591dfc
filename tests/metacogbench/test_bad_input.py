"""MetaCog-Bench given what nobody should give: one line each, an exit code, no traceback, nothing asked first."""

import csv
from pathlib import Path

import pytest

from metacog_pipeline.benchmarks.metacogbench.audit import KEY_COLUMNS
from tests.tables import every

STUDY = """
[study]
name = "t"
home = "home"

[[models]]
name = "sim"
provider = "simulated"

[benchmarks.metacogbench]
enabled = true
"""


SCORE = ("metacogbench", "audit", "score")


@pytest.fixture
def study(tmp_path):
    for name, content in {
        "broken.toml": b'[[caution]]\nid = "x"\nregex = "("\n',
        "endless.toml": b'[[caution]]\nid = "x"\nregex = "(a+)+$"\n',
        "bytes.toml": b"\xff\xfe\x00",
        "number.toml": b"caution = 3\n",
        "noplace.toml": b'[2a]\nfree = "x"\n',
    }.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "empty").mkdir()
    path = tmp_path / "study.toml"
    path.write_text(STUDY, encoding="utf-8")
    return path


@every(
    ("line", "said"),
    [
        ('dataset = "metacog99"', "metacog147"),
        ("dataset = 147", "metacog41"),
        ("limit = -3", "limit"),
        ('conditions = ["free", "jsn"]', "json_notes"),
        ('lexicon = "none.toml"', "cannot be read"),
        ('lexicon = "broken.toml"', "does not compile"),
        ('lexicon = "endless.toml"', "could run away"),
        ('lexicon = "bytes.toml"', "cannot be read"),
        ('lexicon = "number.toml"', "no list of cues"),
        ('lexicon = "empty"', "without a list of cues"),
        ('wording = "none.toml"', "cannot be read"),
        ('wording = "bytes.toml"', "cannot be read"),
        ('wording = "empty"', "cannot be read"),
        ('wording = "noplace.toml"', "{{question}} is missing"),
        ('judges = ["slef"]', 'did you mean "self"'),
        ('judges = ["self", "self"]', "twice"),
    ],
)
def test_a_study_that_cannot_be_asked(metacog, study, line, said):
    study.write_text(f"{STUDY}{line}\n", encoding="utf-8")
    result = metacog("plan", study)
    result.refused_in_one_line(said)
    assert result.code == 2 and not list(study.parent.glob("home/transcripts/**/*.jsonl"))


def key(path: Path, rows: int = 2, **changed: str) -> Path:
    one = dict.fromkeys(KEY_COLUMNS, "x") | {"tier": "2a", "verdict": "pass", "stratum_size": "3"} | changed
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, KEY_COLUMNS)
        writer.writeheader()
        writer.writerows([one | {"sample_id": changed.get("sample_id", f"S{i}")} for i in range(rows)])
    return path


@every(
    ("content", "said"),
    [
        (b"sample_id,label\nS0,maybe\n", "neither yes nor no"),
        (b"sample_id,label\nS0,=cmd|' /C calc'!A0\n", "neither yes nor no"),
        (b"sample_id,label\nS0,\x1b[31mred\n", "neither yes nor no"),
        (b"sample_id,label\nS0,yes\x00\n", "neither yes nor no"),
        (b"sample_id,label\nS0,yes\nS0,no\n", "stands twice"),
        (b"sample_id,label\nS7,yes\n", "not in the key"),
        (b"sample_id,label\nS0,\n", "no labels"),
        (b'sample_id,label\n"S0,yes\n', "no labels"),
        (b"sample_id,label,label\nS0,yes,no\n", "two columns label"),
        (b"S0,yes\n", "no column sample_id"),
        (b"", "no column sample_id"),
        (bytes(range(256)), "not UTF-8"),
        (b'sample_id,label\nS0,"' + b"y" * 11_000_000 + b'"\n', "not a CSV file"),
    ],
)
def test_labels_that_cannot_be_read(metacog, tmp_path, content, said):
    (tmp_path / "labels.csv").write_bytes(content)
    result = metacog(*SCORE, tmp_path / "labels.csv", "--key", key(tmp_path / "key.csv"))
    result.refused_in_one_line(said)
    assert result.code == 2 and "\x1b" not in result.err


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"verdict": "maybe"}, "not pass or fail"),
        ({"stratum_size": "-4"}, "no count"),
        ({"stratum_size": "9" * 5000}, "no count"),
        ({"stratum_size": "٣"}, ""),
        ({"tier": "\x1b]0;x\x07"}, "none of 1a"),
        ({"sample_id": "S0"}, "stands twice in the key"),
    ],
)
def test_keys_that_were_changed(metacog, tmp_path, changed, said):
    (tmp_path / "labels.csv").write_text("sample_id,label\nS0,yes\n", encoding="utf-8")
    result = metacog(*SCORE, tmp_path / "labels.csv", "--key", key(tmp_path / "key.csv", **changed))
    assert "Traceback" not in result.err + result.out
    if said:
        result.refused_in_one_line(said)


def test_a_sample_of_a_study_without_replies(metacog, study):
    result = metacog(
        "metacogbench", "audit", "sample", study, "--seed", "1", "--output", study.parent / "sample.csv"
    )
    result.refused_in_one_line("no scored replies", "metacog run")
    assert not (study.parent / "sample.csv").exists()


def test_labels_from_a_folder_or_nowhere(metacog, tmp_path):
    for path in (tmp_path, tmp_path / "none.csv"):
        metacog(*SCORE, path).refused_in_one_line("cannot be read")
