"""Before a run: each check gives one line, a broken model hides no other, and the exit code says if a run can start."""

from pathlib import Path
from typing import Any

import pytest

from metacog_pipeline.asking import doctor, plan
from metacog_pipeline.asking.doctor import Finding, examine, exit_code
from metacog_pipeline.asking.plan import plan_study
from metacog_pipeline.asking.session import request_digest
from metacog_pipeline.errors import MetacogError, StoreError
from metacog_pipeline.llm import capabilities
from metacog_pipeline.llm.capabilities import Capabilities
from metacog_pipeline.llm.spec import ModelSpec
from metacog_pipeline.study import Study, load_study
from tests.studies import write_study

KEY = "sk-cAnArY/9f3b71d2c04e+5a66"
CHAT = Capabilities(limit_field="max_completion_tokens", reasons=False)


def study_of(folder: Path, *models: Any, budget: float | None = 5, **more: Any) -> Study:
    sample = {more.pop("bench", "metamedqa"): {"dataset": more.pop("dataset", "sample")}}
    return load_study(write_study(folder, *models, benchmarks=sample, budget_usd=budget, **more))


def model(name: str, **keys: Any) -> dict[str, Any]:
    return {"name": name, "provider": "openai", "model": "x", "price_in": 1, "price_out": 2, **keys}


async def answers(study: Study, spec: ModelSpec) -> Capabilities:
    return CHAT


async def never(study: Study, spec: ModelSpec) -> Capabilities:
    raise AssertionError("nobody is to be asked")


@pytest.fixture(autouse=True)
def asked(monkeypatch):
    """Every model answers the short question, and there is a key."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setattr(doctor, "probe", answers)
    return lambda probe: monkeypatch.setattr(doctor, "probe", probe)


def look(study: Study, *, offline: bool = False) -> list[Finding]:
    return examine(study, offline=offline)


def said_of(found: list[Finding], subject: str) -> list[str]:
    return [f"{each.state} {each.text}" for each in found if each.subject == subject]


def test_where_nothing_is_wrong_every_line_says_so_and_a_run_can_start(tmp_path):
    found = look(study_of(tmp_path, model("small")))
    assert {each.state for each in found} == {"ok"}
    assert exit_code(found) == 0
    assert said_of(found, "small") == [
        "ok its key is in OPENAI_API_KEY",
        "ok $1 in and $2 out per million tokens",
        "ok as it answers: room to think 0 tokens; reasons no",
    ]
    assert said_of(found, "budget") == ["ok $5.0000, of which $0.0000 are spent"]


@pytest.mark.parametrize(
    ("value", "line"),
    [(None, "is not set; export your key under it"), ("", "is set but empty; export your key under it"),
     (" \n", "is set but empty; export your key under it"),
     (KEY + "é", "holds characters no key has; export your key under it")],
)  # fmt: skip
def test_a_key_that_is_unset_empty_or_odd_is_one_line_and_nobody_is_asked(
    tmp_path, monkeypatch, asked, value, line
):
    asked(never)
    monkeypatch.delenv("OPENAI_API_KEY")
    if value is not None:
        monkeypatch.setenv("OPENAI_API_KEY", value)
    found = look(study_of(tmp_path, model("small")))
    assert said_of(found, "small")[0] == f"fail environment variable OPENAI_API_KEY {line}"
    assert exit_code(found) == 2


NO_PRICE = {"price_in": None, "price_out": None}
SET_PRICE = "has no price: set price_in and price_out (dollars per million tokens; 0 for a free model)"


@pytest.mark.parametrize(
    ("keys", "budget", "line"),
    [
        (NO_PRICE, None, f"warn {SET_PRICE}, or price_unknown = true; what it costs is not counted"),
        ({**NO_PRICE, "price_unknown": True}, None,
         "ok has no price, on purpose (price_unknown): what it costs is not counted"),
        ({"price_out": None}, 5, f"fail {SET_PRICE}, or remove budget_usd, which cannot be kept so"),
        ({"price_in": 0, "price_out": 0}, None, "ok $0 in and $0 out per million tokens"),
    ],
)  # fmt: skip
def test_a_paid_model_needs_a_price_unless_it_is_left_out_on_purpose(tmp_path, keys, budget, line):
    found = look(study_of(tmp_path, model("small", **keys), budget=budget))
    assert line in said_of(found, "small")
    assert exit_code(found) == (5 if line.startswith("fail") else 0)


def test_judges_are_checked_like_models(tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    judges = [model(name, family="f", model=name) for name in ("grader", "second")]
    found = look(study_of(tmp_path, model("small"), judges=judges))
    assert [each.subject for each in found if each.state == "fail"] == ["small", "grader", "second"]


@pytest.mark.parametrize(
    ("raised", "line"),
    [
        (StoreError("ledger: cannot be read; restore it"), "fail ledger: cannot be read; restore it"),
        (RuntimeError(f"header {KEY}"), "fail asking it broke (RuntimeError)"),
    ],
)
def test_a_check_that_breaks_hides_no_other_and_shows_no_key(tmp_path, asked, raised, line):
    async def probe(study: Study, spec: ModelSpec) -> Capabilities:
        if spec.name == "small":
            raise raised
        return CHAT

    asked(probe)
    found = look(study_of(tmp_path, model("small"), model("other")))
    assert said_of(found, "small")[-1] == line
    assert [each.state for each in found if each.subject == "other"] == ["ok"] * 3
    assert KEY[3:12] not in "".join(each.line for each in found)


def learnt(study: Study, known: Capabilities) -> None:
    capabilities.save(study.home, study.models[0].name, request_digest(study.models[0]), known)


def test_offline_asks_nobody_and_shows_what_is_known(tmp_path, asked):
    asked(never)
    study = study_of(tmp_path, model("small"))
    refused = frozenset({"temperature", "stop"})
    learnt(study, Capabilities(reasons=True, reasoning_tokens=2_000, refused=refused))
    assert said_of(look(study, offline=True), "small")[2:] == [
        "ok as it answers: room to think 15,360 tokens; reasons yes, up to 2,000 tokens so far; does not take stop, "
        "temperature"
    ]


@pytest.mark.parametrize(
    ("keys", "known"),
    [({"thinking_tokens": 100}, {"reasoning_tokens": 700}),
     ({}, {"reasoning_tokens": 800, "refused": frozenset({"thinking_room"})})],
)  # fmt: skip
def test_too_little_room_for_what_was_thought_before_is_a_warning_with_the_key(tmp_path, keys, known):
    study = study_of(tmp_path, model("small", **keys))
    learnt(study, Capabilities(reasons=True, **known))
    assert said_of(look(study, offline=True), "small")[-1].startswith("warn there is less room to think")


@pytest.mark.parametrize("edited", ['{"reasoning_tokens": "many"}', '{"reasons": 7}', "[1]", "{"])
def test_capabilities_that_were_edited_are_as_good_as_none(tmp_path, edited):
    study = study_of(tmp_path, model("small"))
    learnt(study, CHAT)
    path = study.home.capabilities / "small.json"
    head, mark, _ = path.read_text().partition('"capabilities"')
    path.write_text(f'{head}{mark}: {edited[:-1]}, "refused": [], "refused_modes": []}}}}')
    assert len(said_of(look(study, offline=True), "small")) == 2


def test_a_data_set_that_is_not_here_is_a_warning_with_how_to_fetch_it(tmp_path):
    found = look(study_of(tmp_path, model("small"), bench="medley", dataset="published"))
    line, *_ = said_of(found, "medley")
    assert line.startswith("warn data set ") and "--fetch" in line and "--from DIR" in line
    assert exit_code(found) == 0


def test_a_spent_budget_and_a_missing_one_are_told_apart(tmp_path):
    found = look(study_of(tmp_path, model("small"), budget=0))
    assert said_of(found, "budget") == ["fail $0.0000, of which $0.0000 are spent: raise budget_usd"]
    assert exit_code(found) == 5
    found = look(study_of(tmp_path, model("small"), budget=None))
    assert said_of(found, "budget") == ["warn no budget_usd is set: nothing would stop the spending"]
    found = look(study_of(tmp_path, {"name": "s", "provider": "simulated"}, budget=None))
    assert said_of(found, "budget") == ["ok no model of the study costs money"]
    assert said_of(found, "s") == ["ok costs nothing"]


def test_a_home_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "home").write_text("a file")
    found = look(study_of(tmp_path, model("small")))
    (line,) = said_of(found, "home")
    assert "is a file, not a folder; choose another home or move the file away" in line
    assert exit_code(found) == 2


def test_hardly_any_space_is_a_failure(tmp_path, monkeypatch):
    study = study_of(tmp_path, model("small"))
    for free_bytes, state in ((100 * doctor.MIB, "fail"), (1000 * doctor.MIB, "ok")):
        usage = type("Usage", (), {"free": free_bytes})
        monkeypatch.setattr(doctor.shutil, "disk_usage", lambda path, usage=usage: usage)
        (line,) = said_of(look(study), "home")
        assert line.startswith(state), line


def test_a_folder_without_a_model_is_one_line(tmp_path):
    row = {"name": "mine", "provider": "transformers", "model": "nowhere"}
    found = look(study_of(tmp_path, row))
    assert said_of(found, "mine") == [f"fail {tmp_path}/nowhere: no model here (config.json is missing)"]
    assert exit_code(found) == 6


def test_a_model_that_billed_more_than_it_was_allowed_fails_with_what_to_change(tmp_path):
    study = study_of(tmp_path, model("small"))
    learnt(study, Capabilities(reasons=True, overbilled=99_000))
    found = look(study, offline=True)
    assert said_of(found, "small")[-1] == (
        "fail billed 99,000 tokens once, more than the request allowed, and is not asked again, because no budget holds "
        "then: raise thinking_tokens or max_tokens of its row, lower effort, or ask the provider directly"
    )
    assert exit_code(found) == 5


# --- benchmarks -------------------------------------------------------------------------------------------------------
UNREADABLE = "nothere.toml cannot be read", 2
#: What is in the table of a benchmark, with the words and the exit code of the one line about it.
BROKEN = [
    ("metamedqa", {"dataset": "sample", "wording": "nothere.toml"}, *UNREADABLE),
    ("metamedqa", {"dataset": "sample", "conditions": ["basline"]}, 'did you mean "baseline"?', 2),
    ("metamedqa", {"dataset": "custom", "folder": "nothere"}, "nothere: no such folder", 3),
    ("questions", {"items": ["x.jsonl"]}, "x.jsonl: cannot be read", 3),
    ("questions", {"items": []}, "names no questions", 3),
    ("metacogbench", {"limit": 1, "wording": "nothere.toml"}, *UNREADABLE),
    ("selfknowledge", {"wording": "nothere.toml"}, *UNREADABLE),  # its data are not here
    ("signaldetection", {"dataset": "sample", "wording": "nothere.toml"}, *UNREADABLE),
]


def asking(folder: Path, **benchmarks: Any) -> Study:
    return load_study(write_study(folder, {"name": "m", "provider": "simulated"}, benchmarks=benchmarks))


@pytest.mark.parametrize(("benchmark", "keys", "said", "code"), BROKEN)
def test_what_would_end_a_run_before_its_first_call_is_one_failing_line(
    tmp_path, benchmark, keys, said, code
):
    study = asking(tmp_path, **{benchmark: keys})
    found = look(study)
    [failed] = [each for each in found if each.state == "fail"]
    assert failed.subject == benchmark and said in failed.text and "\n" not in failed.text
    assert exit_code(found) == failed.exit_code == code
    if benchmark in ("metamedqa", "questions"):
        with pytest.raises(MetacogError, match=said.replace("?", r"\?")):
            plan_study(study)


def test_a_broken_benchmark_hides_no_other(tmp_path):
    broken = {name: keys for name, keys, *_ in (BROKEN[0], BROKEN[3])}
    found = look(asking(tmp_path, **broken, signaldetection={"dataset": "sample"}))
    assert [each.subject for each in found if each.state == "fail"] == ["metamedqa", "questions"]
    assert any(each.subject == "signaldetection" for each in found)


def test_a_fault_of_the_benchmark_itself_is_a_line_too(tmp_path, monkeypatch):
    def broken(*given: object, **more: object) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(plan, "left_to_ask", broken)
    found = look(asking(tmp_path, signaldetection={"dataset": "sample"}))
    assert [each.text for each in found if each.state == "fail"] == ["ZeroDivisionError: division by zero"]
