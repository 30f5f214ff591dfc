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
    path = tmp_path / "s.toml"
    models = (
        "--model",
        "openai:a",
        "--model",
        "openai:b@http://127.0.0.1:8000/v1",
        "--benchmark",
        "questions",
    )
    assert metacog("init", path, *models, "--price", "2", "9").code == 0
    assert [spec.price_out for spec in load_study(path).models] == [9, 0]
    assert 'items = "sample"' in path.read_text()


def test_each_billed_model_has_its_own_price_and_key(metacog, tmp_path):
    path = tmp_path / "s.toml"
    named = (word for name in ("openai:a", "simulated", "anthropic:b") for word in ("--model", name))
    models, prices = [*named, "--benchmark", "metamedqa"], ["--price", "1", "2", "--price", "3", "15"]
    metacog("init", path, *models, "--price", "1", "2").refused_in_one_line("--price", "1 times", "a, b")
    metacog("init", path, *models, *prices, "--key", "ONE").refused_in_one_line("--key", "2 billed models")
    assert metacog("init", path, *models, *prices, "--key", "ONE", "--key", "TWO").code == 0
    found = [(each.name, each.price_out, each.api_key_env) for each in load_study(path).models]
    assert found == [("a", 2, "ONE"), ("simulated", None, None), ("b", 15, "TWO")]


def test_a_file_with_billed_models_passes_the_doctor_when_its_keys_are_set(metacog, tmp_path, monkeypatch):
    path = tmp_path / "s.toml"
    models = ("--model", "openai:a", "--benchmark", "metamedqa", "--price", "1", "2", "--key", "MINE")
    assert metacog("init", path, *models).code == 0
    metacog("doctor", path, "--offline")
    monkeypatch.setenv("MINE", "sk-test")
    assert metacog("doctor", path, "--offline").code == 0


def test_on_a_terminal_what_is_not_given_is_asked_until_it_can_be_read(metacog, tmp_path, monkeypatch):
    words = "opnai:gpt|openai:gpt-4.1|medly|metamedqa, selfknowledge|cheap|2.5|10|MY_KEY|1e300|7.5"
    typed = iter(words.split("|"))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("click.termui.visible_prompt_func", lambda _: next(typed))
    path = tmp_path / "mine.toml"
    result = metacog("init", path)
    assert result.code == 0 and next(typed, None) is None
    assert 'did you mean "openai"' in result.out + result.err
    study = load_study(path)
    assert study.enabled == ("metamedqa", "selfknowledge") and study.models[0].api_key_env == "MY_KEY"
    assert (study.models[0].price_in, study.models[0].price_out, study.study.budget_usd) == (2.5, 10.0, 7.5)


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


@pytest.mark.parametrize(
    "models", ["openai:a, simulated", "openai:a simulated", "openai:a,simulated,", " openai:a ,simulated"]
)
def test_models_are_told_apart_by_blanks_and_commas(metacog, tmp_path, monkeypatch, models):
    answers = iter([models, "medley", "1", "2", "OPENAI_API_KEY", "3"])
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("click.termui.visible_prompt_func", lambda _: next(answers))
    assert metacog("init", tmp_path / "s.toml").code == 0
    found = [(each.name, each.model) for each in load_study(tmp_path / "s.toml").models]
    assert found == [("a", "a"), ("simulated", "")]


def test_models_whose_names_are_written_alike_have_names_of_their_own(metacog, tmp_path):
    models = ["模型", "語言", "org/語言", "x" * 90, "x" * 91]
    path = tmp_path / "s.toml"
    options = [word for name in (*models, "a, simulated") for word in ("--model", f"openai:{name}")]
    prices = ["--price", "1", "2"] * (len(models) + 1)
    assert metacog("init", path, *options, "--benchmark", "medley", *prices).code == 0
    study = load_study(path)
    assert [each.model for each in study.models] == [*models, "a", ""]
    assert [each.name for each in study.models][:3] == ["openai", "openai-2", "openai-3"]


def test_who_stops_answering_is_told_that_nothing_was_written(metacog, tmp_path, monkeypatch):
    def ended(_: object) -> str:
        raise EOFError

    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("click.termui.visible_prompt_func", ended)
    result = metacog("init", tmp_path / "s.toml")
    assert result.code == 130 and result.err.strip().startswith("metacog: interrupted")
    assert not (tmp_path / "s.toml").exists()


def test_an_existing_file_stays_as_it_is_and_a_folder_is_no_study_file(metacog, study):
    before = study.read_bytes()
    metacog("init", study.parent).refused_in_one_line("is there already", "study.toml")
    metacog("init", study).refused_in_one_line("is there already")
    assert study.read_bytes() == before


@pytest.mark.parametrize("option", [["--price", "1", "2"], ["--key", "ONE"]])
def test_a_price_or_a_key_too_many_is_refused(metacog, tmp_path, option):
    path, once = tmp_path / "mine.toml", ["--model", "openai:m", "--price", "2.5", "10"]
    said = metacog("init", path, *once, *option, *(option if option[0] == "--key" else ()))
    said.refused_in_one_line(option[0], "given 2 times for 1 billed models")
