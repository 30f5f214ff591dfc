"""``metacog init`` writes a study file that loads, is checked by ``doctor``, and never takes the place of another."""

import pytest

from metacog_pipeline import registry
from metacog_pipeline.study import load_study


@pytest.fixture(autouse=True)
def nobody_at_the_terminal(monkeypatch):
    monkeypatch.setattr("sys.stdin.isatty", lambda: False)


def test_without_options_every_benchmark_is_measured_with_a_simulated_model(metacog, tmp_path):
    path = tmp_path / "mine.toml"
    assert metacog("init", path).code == 0
    assert load_study(path).enabled == registry.names()
    assert metacog("doctor", path, "--offline").code == 0


@pytest.mark.parametrize(
    ("model", "name", "billed"),
    [
        ("openai:gpt-4.1-mini", "gpt-4.1-mini", True),
        ("anthropic:Claude Sonnet", "claude-sonnet", True),
        ("openai:org/Model-7B@http://127.0.0.1:8000/v1", "model-7b", False),
        ("openai:m@https://elsewhere.example/v1", "m", True),
        ("transformers:models/tiny", "tiny", False),
        ("replay", "replay", False),
    ],
)
def test_each_way_to_name_a_model_is_a_row_that_loads(metacog, tmp_path, model, name, billed):
    path = tmp_path / "mine.toml"
    asked = metacog("init", path, "--model", model, "--benchmark", "metamedqa")
    if billed:
        asked.refused_in_one_line("--price", name)
        asked = metacog("init", path, "--model", model, "--benchmark", "metamedqa", "--price", "2.5", "10")
    assert asked.code == 0, asked.err
    study = load_study(path)
    assert [spec.name for spec in study.models] == [name]
    assert (study.study.budget_usd is not None) == billed


def test_a_server_of_ones_own_has_no_price_beside_models_that_are_billed(metacog, tmp_path):
    models = ("--model", "openai:a", "--model", "openai:b@http://127.0.0.1:8000/v1")
    assert (
        metacog("init", tmp_path / "s.toml", *models, "--benchmark", "questions", "--price", "2", "9").code
        == 0
    )
    study = load_study(tmp_path / "s.toml")
    assert [spec.price_out for spec in study.models] == [9, 0]
    assert 'items = "sample"' in (tmp_path / "s.toml").read_text()


def test_on_a_terminal_what_is_not_given_is_asked(metacog, tmp_path, monkeypatch):
    answers = iter(["openai:gpt-4.1", "metamedqa, selfknowledge", "2.5 10", "7.5"])
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("click.prompt", lambda text, **_: next(answers))
    path = tmp_path / "mine.toml"
    assert metacog("init", path).code == 0
    study = load_study(path)
    assert study.enabled == ("metamedqa", "selfknowledge")
    assert (study.models[0].price_in, study.models[0].price_out, study.study.budget_usd) == (2.5, 10.0, 7.5)


def test_on_a_terminal_a_wrong_answer_is_asked_again_and_said_what_is_wrong(metacog, tmp_path, monkeypatch):
    answers = iter(
        ["opnai:gpt-4.1", "openai:gpt-4.1", "medly", "medley", "cheap", "2.5", "-1 2", "inf 1", "$2.5, 10",
         "much", "nan", "1e300", "7.5"]
    )  # fmt: skip
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("click.prompt", lambda text, **_: next(answers))
    path = tmp_path / "mine.toml"
    result = metacog("init", path)
    assert result.code == 0 and next(answers, None) is None
    assert result.err.count("\n") == 9 and all(
        line.startswith("metacog: ") for line in result.err.splitlines()
    )
    assert 'did you mean "openai"' in result.err and 'price "cheap": give two numbers' in result.err
    study = load_study(path)
    assert (study.models[0].price_in, study.models[0].price_out, study.study.budget_usd) == (2.5, 10.0, 7.5)
    assert study.enabled == ("medley",)


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (("--model", "opnai:x"), ("opnai", 'did you mean "openai"')),
        (("--model", "openai"), ("openai:MODEL",)),
        (("--model", "simulated:x"), ("give simulated alone",)),
        (("--model", "gemini:x@http://"), ("no address",)),
        (("--model", "openai:x@http://[::1", "--price", "1", "1"), ("no address",)),
        (("--benchmark", "metamedq"), ('did you mean "metamedqa"',)),
        (("--model", "simulated", "--model", "simulated"), ("repeats", "choose another")),
    ],
)
def test_a_mistake_is_one_line_and_leaves_no_file(metacog, tmp_path, options, parts):
    path = tmp_path / "mine.toml"
    metacog("init", path, *options).refused_in_one_line(*parts)
    assert not path.exists()


def test_an_existing_file_stays_as_it_is(metacog, study):
    before = study.read_bytes()
    metacog("init", study).refused_in_one_line("is there already")
    assert study.read_bytes() == before
