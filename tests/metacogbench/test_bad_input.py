"""MetaCog-Bench given what nobody should give: one line each, an exit code, no traceback, nothing asked first."""

import pytest

from metacog_pipeline.benchmarks.metacogbench.audit import KEY_COLUMNS, figures
from metacog_pipeline.errors import StudyError
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


@pytest.fixture
def study(tmp_path):
    for name, content in {
        "bytes.toml": b"\xff\xfe\x00",
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
        ('lexicon = "cues.toml"', "unknown key"),
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


def key(**changed: str) -> list[dict[str, str]]:
    one = dict.fromkeys(KEY_COLUMNS, "x") | {"tier": "2a", "verdict": "pass", "stratum_size": "3"} | changed
    return [one | {"sample_id": changed.get("sample_id", f"S{i}")} for i in range(2)]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"verdict": "maybe"}, "not pass or fail"),
        ({"stratum_size": "-4"}, "no count"),
        ({"stratum_size": "9" * 5000}, "no count"),
        ({"tier": "\x1b]0;x\x07"}, "none of 1a"),
        ({"sample_id": "S0"}, "stands twice in the key"),
    ],
)
def test_keys_that_were_changed(changed, said):
    with pytest.raises(StudyError, match=said) as refused:
        figures([{"sample_id": "S0", "label": "yes"}], key(**changed))
    assert "\n" not in str(refused.value)
