"""The study file: what is accepted, and that every mistake is one line naming file, key, value and what is allowed."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.errors import StudyError
from metacog_pipeline.llm.costs import worst_case_cost
from metacog_pipeline.llm.types import ChatRequest, Message, Sampling
from metacog_pipeline.study import load_study
from tests.tables import every

BASE = """
[study]
name = "mine"
runs = 2

[[models]]
name = "alpha"
provider = "simulated"
"""
OPENAI = BASE + '[[models]]\nname = "beta"\nprovider = "openai"\nmodel = "m"\n'
LOCAL = BASE + '[[models]]\nname = "mine"\nprovider = "transformers"\n'


def write(folder: Path, text: str) -> Path:
    """Write a study file; one that names no benchmark gets a table of one."""
    path = folder / "study.toml"
    named = "" if "benchmarks" in text else "\n[benchmarks.metamedqa]\n"
    path.write_text(text + named, encoding="utf-8")
    return path


def refusal(folder: Path, text: str) -> str:
    with pytest.raises(StudyError) as caught:
        load_study(write(folder, text))
    message = str(caught.value)
    assert "\n" not in message and "study.toml" in message
    return message


def refused(folder: Path, text: str, expected: list[str]) -> None:
    message = refusal(folder, text)
    assert [part for part in expected if part not in message] == [], message


def test_a_minimal_study_gets_defaults_and_a_home_beside_the_file(tmp_path):
    study = load_study(write(tmp_path, BASE))
    assert study.home.path == tmp_path / "mine-home"
    assert list(study.runs) == [1, 2]
    assert study.enabled == ("metamedqa",)
    assert study.benchmarks["metamedqa"].model_dump()["dataset"] == "published"


def test_a_relative_home_starts_at_the_study_file_not_at_the_working_folder(tmp_path, monkeypatch):
    path = write(tmp_path, BASE.replace("runs = 2", 'home = "kept"'))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert load_study(path).home.path == tmp_path / "kept"


@every("place", ["models/one", "/models/one"])
def test_the_folder_of_a_model_is_beside_the_study_file_unless_absolute(tmp_path, place):
    study = load_study(write(tmp_path, f'{LOCAL}model = "{place}"'))
    assert study.model("mine").model == str(tmp_path / place)


@every(
    ("text", "expected"),
    [
        (BASE.replace('"alpha"', '"' + "a" * 65 + '"'), ["models[0].name", "at most 64"]),
        ('[study]\nname = "x"', ["no model", "[[models]]"]),
        ('models = 3\n[study]\nname = "x"', ["no model"]),
        (BASE.replace("runs = 2", "runs = 0"), ["study.runs", "0", "greater than or equal to 1"]),
        (BASE.replace("runs = 2", "budget_usd = -1"), ["study.budget_usd", "-1"]),
        (BASE.replace("runs = 2", "budget_usd = nan"), ["study.budget_usd"]),
        (BASE + "[benchmarks.metamedqa]\nenabled = false", ["none is named"]),
        (OPENAI + "extra_body = {messages = []}", ["extra_body.messages"]),
        (OPENAI + "extra_body = {a = nan}", ["extra_body", "finite"]),
        (OPENAI + "price_in = inf", ["models[1].price_in"]),
        (BASE + '[benchmarks.metamedqa]\ndataset = "custom"', ["folder"]),
        (BASE + "[benchmarks.metamedqa]\nconditions = []", ["conditions"]),
        (BASE + '[benchmarks.metamedqa]\nconditions = ["a", "a"]', ["conditions", "twice"]),
        ("x =", ["not a readable TOML"]),
        ("a = " + "[" * 5000 + "]" * 5000, ["not a readable TOML", "nested too deeply"]),
        (OPENAI + "extra_body = " + "{a = " * 3000 + "1" + "}" * 3000, ["nested too deeply"]),
        ('path = "x"\n' + BASE, ["path: unknown key", "study, models, judges, benchmarks"]),
        (BASE.replace("runs = 2", "runs = true"), ["study.runs = true", "a valid integer"]),
        (BASE.replace("runs = 2", "budget_usd = 2020-01-01"), ["study.budget_usd"]),
        (BASE.replace("runs = 2", 'home = "~nobody-here/x"'), ["study.home", "~nobody-here", "folder"]),
        (BASE.replace("runs = 2", r'home = "a\u0000b"'), ["study.home", "folder"]),
        (BASE.replace("runs = 2", r'home = "a\nb"'), ["study.home", "printed"]),
        (BASE.replace("runs = 2", f'home = "{"a" * 300}"'), ["study.home", "too long"]),
        (BASE.replace("runs = 2", 'home = "s3://bucket/x"'), ["study.home", "s3://", "address", "folder"]),
        (OPENAI + "max_tokens = 1" + "0" * 400, ["models[1].max_tokens", "1000000000"]),
        (OPENAI + 'max_tokens = "64"', ["models[1].max_tokens", '"64"']),
        (OPENAI + "timeout_s = 1e300", ["models[1].timeout_s", "86400"]),
        (OPENAI + 'base_url = "http://[::1"', ['"beta"', "base_url"]),
        (OPENAI + 'base_url = "http://host:99999"', ['"beta"', "base_url"]),
        (OPENAI + 'base_url = "http://ho st/v1"', ['"beta"', "base_url"]),
        (LOCAL, ["model is missing", "give the folder"]),
        *((LOCAL + f'model = "x"\n{key} = {value}', [f"models[1].{key}"])
          for key, value in (("device", '"tpu"'), ("dtype", '"int4"'), ("batch_size", "0"))),
    ],
)  # fmt: skip
def test_a_mistake_names_the_key_the_value_and_what_is_allowed(tmp_path, text, expected):
    refused(tmp_path, text, expected)


JUDGED = f"""{BASE}family = "house"
[benchmarks.medley]
enabled = true
judges = ["strict", "kind"]
[[judges]]
name = "strict"
provider = "openai"
model = "s"
family = "openai"
[[judges]]
name = "kind"
provider = "anthropic"
model = "k"
family = "anthropic"
"""


ASKED = '[study]\nname = "n"\n[[models]]\nname = "m"\nprovider = "openai"\nprice_in = 1\nprice_out = 1\n'
LOOSE = [
    *(f"[training]\n{key} = true" for key in ("sigma", "alpha", "held_out_share", "model", "rows")),
    *(f"{key} = {value}" for key in ("[training]\nantithetic", "[training]\nmeta_chat",
                                     "[benchmarks.medley]\nallow_incomplete", "[benchmarks.medley]\nenabled")
      for value in ('"true"', "0", "1", '"no"')),
    *(f"[training]\nmodel = {value}" for value in ('""', '" "', '"a\\nb"', '"a\\u0000b"')),
]  # fmt: skip


@every("text", LOOSE)
def test_a_key_takes_its_own_kind_of_value_and_nothing_near_it(tmp_path, text):
    assert text.split("\n")[1].split(" ")[0] in refusal(tmp_path, f'{ASKED}model = "x"\n{text}\n')


@every("value", ['" "', '"a\\nb"', '"a\\u0000b"', '"\\t"'])
def test_a_model_and_a_home_are_written_in_characters_that_can_be_seen(tmp_path, value):
    assert "give the name of the model" in refusal(tmp_path, f"{ASKED}model = {value}\n")
    home = ASKED.replace('name = "n"', f'name = "n"\nhome = {value}', 1)
    assert "give the path of a folder" in refusal(tmp_path, f'{home}model = "x"\n')


@every("value", ["1", "{ A = 1 }", '{ A = "x" }', "[1]"])
def test_ids_of_tokens_are_said_to_be_lists_by_option(tmp_path, value):
    assert "as in { A = [32, 362]" in refusal(tmp_path, f'{ASKED}model = "x"\ntoken_ids = {value}\n')


def test_judges_are_models_that_are_not_measured(tmp_path):
    study = load_study(write(tmp_path, JUDGED))
    assert [spec.name for spec in study.models] == ["alpha"]
    assert {spec.name: spec.family for spec in study.judges} == {"strict": "openai", "kind": "anthropic"}
    assert study.benchmarks["medley"].model_dump()["judges"] == ("strict", "kind")
    spare = '[[judges]]\nname = "spare"\nprovider = "gemini"\nmodel = "g"\n'
    assert len(load_study(write(tmp_path, JUDGED + spare)).judges) == 3, (
        "one no benchmark names needs no family"
    )
    text = JUDGED.replace('"openai"\nmodel = "s"', '"simulated"').replace('family = "openai"', 'family = "x"')
    assert load_study(write(tmp_path, text)).judges[0].provider == "simulated"


@every(
    ("text", "expected"),
    [
        (JUDGED.replace('["strict"', '["stricht"'), ['"stricht"', 'did you mean "strict"', "strict, kind"]),
        (BASE + '[benchmarks.medley]\njudges = ["x"]', ["medley.judges", '"x"', "[[judges]] has: none"]),
        (JUDGED.replace('["strict"', '["kind"'), ["medley.judges", "twice"]),
        (JUDGED.replace('family = "openai"\n', ""), ['judges "strict"', "family is missing"]),
        (JUDGED.replace('family = "house"\n', ""), ['models "alpha"', "family is missing"]),
        (JUDGED.replace('family = "openai"', 'family = "Open AI"'), ["judges[0].family", '"Open AI"']),
        (JUDGED.replace('name = "kind"', 'name = "strict"'), ['judges[1].name = "strict"', "repeats judges[0].name"]),
        (JUDGED.replace('name = "kind"', 'name = "alpha"'), ['judges[1].name = "alpha"', "repeats models[0].name"]),
        (JUDGED.replace('model = "s"', 'model = "s"\nfamilly = "x"'), ["judges[0].familly", 'did you mean "family"']),
        (JUDGED.replace('"openai"\nmodel', '"replay"\nmodel'), ['judges[0] "strict"', "replay"]),
        (JUDGED.replace('"anthropic"\nmodel = "k"', '"openai"\nmodel = "s"'),
         ['judges[1] "kind"', 'same model as judge "strict"']),
        ("judges = 3\n" + BASE, ["judges"]),
        ("judges = [3]\n" + BASE, ["judges[0]"]),
        (BASE + "[judges]\nname = 'x'", ["judges"]),
    ],
)  # fmt: skip
def test_a_mistake_about_judges_names_the_key_the_value_and_what_is_allowed(tmp_path, text, expected):
    refused(tmp_path, text, expected)


@every(
    "key",
    ["sk-proj-very-secret", "Bearer abc.def", "sk_live_verysecret", "gsk_Ab1Cd2Ef3Gh4Ij5Kl6Mn7",
     "AIzaSyD3x9kQ2mVh7ZpL0tR5wE8uYbN1cXaF4gJ6", "hf_AbCdEfGhIjKlMnOp", "a1B2c3D4e5F6g7H8i9J0k"],
)  # fmt: skip
def test_a_key_given_instead_of_its_name_is_refused_and_not_repeated(tmp_path, key):
    message = refusal(tmp_path, OPENAI + f'api_key_env = "{key}"')
    assert "api_key_env" in message and "NAME" in message and key not in message


@pytest.mark.parametrize(
    "name", ["OPENAI_API_KEY", "my_key", "_K2", "Azure_Key_West_Europe", "KEY_0123456789ABCDEF"]
)
def test_the_name_of_a_variable_is_no_key(tmp_path, name):
    assert load_study(write(tmp_path, OPENAI + f'api_key_env = "{name}"')).models[1].api_key_env == name


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_a_file_as_windows_editors_save_it_is_read(tmp_path, ends):
    path = tmp_path / "study.toml"
    text = BASE + "[benchmarks.metamedqa]\n"
    path.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", ends).encode())
    assert load_study(path).models[0].name == "alpha"


@pytest.mark.parametrize(
    "body",
    ["{max_tokens = 1e308, n = 1e308}", "{n = 1" + "0" * 300 + ", thinking = {budget_tokens = 9e300}}"],
)
def test_absurd_numbers_in_an_extra_body_only_cost_too_much(tmp_path, body):
    study = load_study(write(tmp_path, OPENAI + f"price_in = 1\nprice_out = 1\nextra_body = {body}"))
    cost = worst_case_cost(study.models[1], ChatRequest((Message("user", "q"),), Sampling()))
    assert cost is not None
    assert 1e5 < cost < float("inf")


def test_a_missing_study_file_is_named_and_an_unknown_model_is_answered_with_those_there_are(tmp_path):
    with pytest.raises(StudyError, match=r"nowhere\.toml: no such study file"):
        load_study(tmp_path / "nowhere.toml")
    with pytest.raises(StudyError, match=r'no model "alhpa" \(did you mean "alpha"\?\)'):
        load_study(write(tmp_path, BASE)).model("alhpa")


@every("raw", [b"\xff\xfe\x00", b"\x00", b"[study]\nname='\x01'", None])
def test_a_file_that_is_not_text_or_a_folder_is_refused_in_one_line(tmp_path, raw):
    path = tmp_path if raw is None else tmp_path / "study.toml"
    if raw is not None:
        path.write_bytes(raw)
    with pytest.raises(StudyError) as caught:
        load_study(path)
    assert "\n" not in str(caught.value)


@every("home", ["taken", "taken/deeper"])
def test_a_home_that_is_a_file_is_refused_when_it_is_prepared(tmp_path, home):
    (tmp_path / "taken").write_text("a file")
    study = load_study(write(tmp_path, BASE.replace("runs = 2", f'home = "{home}"')))
    with pytest.raises(StudyError, match="is a file, not a folder"):
        study.prepare()


@pytest.mark.parametrize("odd", ["a*b", "what?", "a,b", "100%", "model=x"])
def test_a_home_whose_path_would_be_misread_is_refused_before_anything_is_asked(tmp_path, odd):
    study = load_study(write(tmp_path, BASE.replace("runs = 2", f'home = "{odd}/home"')))
    with pytest.raises(StudyError, match="misread"):
        study.prepare()
    assert not (tmp_path / odd).exists()


@every("fine", ["a b", "ünï 漢字", "[a-z] {b}", "it's", "#1 & more"])
def test_a_home_may_have_any_other_name(tmp_path, fine):
    loaded = load_study(write(tmp_path, BASE.replace("runs = 2", f'home = "{fine}"')))
    loaded.prepare()
    assert loaded.home.transcripts.is_dir()


def test_a_home_that_cannot_be_written_is_refused(tmp_path, monkeypatch):
    loaded = load_study(write(tmp_path, BASE))
    loaded.prepare()

    def refuse(folder: Path) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("metacog_pipeline.preparing.probe_writing", refuse)
    with pytest.raises(StudyError, match=r"Read-only file system.*choose a folder"):
        loaded.prepare()


@settings(max_examples=150, deadline=None)
@given(
    section=st.sampled_from(["study", "models", "benchmarks.metamedqa", "models.observer"]),
    key=st.text(alphabet="abcdefghijklmnopqrstuvwxyz_", min_size=1, max_size=12),
    value=st.sampled_from(["1", "-1", "'x'", "[]", "{}", "true", "1979-05-27", "nan", "[1, 'a']"]),
)
def test_any_extra_key_is_accepted_or_refused_in_one_line(tmp_path_factory, section, key, value):
    table = {"study": BASE.replace("runs = 2", f"{key} = {value}"), "models": f"{BASE}\n{key} = {value}"}
    text = table.get(section, f"{BASE}\n[{section}]\n{key} = {value}")
    path = tmp_path_factory.mktemp("study") / "study.toml"
    path.write_text(text, encoding="utf-8")
    try:
        load_study(path)
    except StudyError as error:
        assert "\n" not in str(error)
