"""Mistakes of study files and commands: one line that says what, where, the value, what is allowed, what was meant."""

import re

import pytest

from metacog_pipeline.home import Home
from metacog_pipeline.leaderboard.build import build
from tests.cli.conftest import STUDY as OF_COMMANDS
from tests.homes import write
from tests.tables import every

STUDY = OF_COMMANDS.lstrip()
NAME, HOME, LIMIT, SET = 'name = "t"', 'home = "home"', "limit = 10", 'dataset = "sample"'
SIM, FIRST, TABLE = 'provider = "simulated"', 'name = "sim"', "[benchmarks.metamedqa]"
ALL = f"{TABLE}\n{SET}\n{LIMIT}"
PAID = 'provider = "openai"\nmodel = "m"\n'
ESMA = "[benchmarks.selfknowledge]\n"
MEDLEY = "[benchmarks.medley]\n"

#: What is typed instead of what, and what the line must say.
IN_STUDY: list[tuple[str, str, tuple[str, ...]]] = [
    (LIMIT, "limt = 10", ("metamedqa.limt: unknown key", 'did you mean "limit"', "allowed: enabled, wording")),
    (LIMIT, 'limit = "ten"', ('metamedqa.limit = "ten"', "must be a valid integer")),
    (SET, 'dataset = "sampel"', ('dataset = "sampel"', '"published", "corrected"', 'did you mean "sample"')),
    (TABLE, "[benchmarks.metamedq]", ("benchmarks.metamedq", 'did you mean "metamedqa"', "medley, metacog")),
    (TABLE, "[benchmark.metamedqa]", ("benchmark: unknown key", 'did you mean "benchmarks"', "study, models")),
    (ALL, 'benchmarks = ["metamedqa"]', ("models[1].benchmarks: unknown key", "allowed: name, provider")),
    (ALL, "", ("benchmarks: none is named", "[benchmarks.metamedqa]")),
    (LIMIT, 'conditions = "role"', ('conditions = "role"', "must be a valid tuple")),
    (LIMIT, 'conditions = ["role-ful"]', ('"role-ful"', 'did you mean "role-full"', "baseline, role")),
    (LIMIT, 'enabled = "perhaps"', ('enabled = "perhaps"', "must be a valid boolean")),
    (SIM, 'provider = "simulatd"', ('models[0].provider = "simulatd"', '"openai"', 'did you mean "simulated"')),
    (SIM, 'providr = "simulated"', ("models[0].providr", 'did you mean "provider"', "allowed: name")),
    (SIM, "", ("models[0].provider: missing",)),
    (FIRST, 'name = "Sim One"', ('models[0].name = "Sim One"', "lower-case letters")),
    (NAME, 'name = "a/b"', ('study.name = "a/b"', "letters, digits, spaces")),
    (NAME, "", ("study.name: missing", 'give text in "quotes"')),
    (HOME, 'budget_usd = "five"', ('study.budget_usd = "five"', "must be a valid number")),
    (HOME, "budget = 5", ("study.budget: unknown key", 'did you mean "budget_usd"')),
    (HOME, 'owners = "me"', ('study.owners = "me"', 'a list in [ ], each "team:NAME"')),
    (HOME, 'owners = ["me"]', ('study.owners[0] = "me"', '"team:NAME" or a mail address')),
    ("[study]", "[stduy]", ("stduy: unknown key", 'did you mean "study"')),
    (f"[study]\n{NAME}\n{HOME}", 'study = "t"', ('study = "t"', "must be a valid dictionary")),
    ("[[models]]\nname = \"sim\"", '[models]\nname = "sim"', ("line 9", "a row of several below [[NAME]]")),
    (NAME, 'name = "t', ("line 2", "text is in quotes")),
    (NAME, 'name "t"', ("line 2", "KEY = VALUE")),
    (HOME, 'name = "u"', ("line 3", "overwrite")),
    ("[study]", "[study", ("line 1",)),
    (SIM, 'provider = "openai"', ('models[0] "sim": model is missing', "give the model id")),
    (SIM, f"{PAID}temperature = 9", ("models[0].temperature = 9", "less than or equal to 2")),
    (SIM, f'{PAID}lane = "bach"', ('models[0].lane = "bach"', '"online" or "batch"', 'did you mean "batch"')),
    (SIM, f'{PAID}api_key_env = "sk-a"', ("models[0].api_key_env", "the NAME of the environment variable")),
    (SIM, f'{PAID}base_url = "ftp://x"', ("base_url is not an http(s) address",)),
    (SIM, f"{SIM}\nobserver = {{acuracy = 1}}", ("observer.acuracy", 'did you mean "accuracy"')),
    (ALL, f'{ESMA}languages = ["en", "kr"]', ('languages[1] = "kr"', '"en", "zh"', 'did you mean "ko"')),
    (ALL, f'{ESMA}dataset = "trivia"', ('dataset = "trivia"', 'did you mean "trivia_qa"')),
    (ALL, f'{MEDLEY}judges = ["jon"]\n[[judges]]\nname = "john"\nprovider = "simulated"', ('"jon"', '"john"')),
    (TABLE, f'[training]\nreward = "jiont"\n{TABLE}', ('reward "jiont"', "joint, direct", "2,1,1,0")),
    (TABLE, f'[training]\ndevice = "gpu"\n{TABLE}', ('training.device = "gpu"', "give cpu, cuda or cuda:1")),
    (SIM, f"{PAID}extra_body = {{a = 2020-01-01}}", ("extra_body: ", "JSON value")),
    (HOME, "runs = 1" + "0" * 5000, ("number of thousands of digits", "give a shorter one")),
    (HOME, 'home = "C:\\Users\\me"', ("line 3, column",)),
    (SIM, 'provider = "azure"', ('provider = "azure"', 'must be "openai"')),
    (SIM, f"{PAID}top_p = 0.9", ("models[0].top_p: unknown key", "extra_body")),
    (SIM, f'{PAID}api_key = "sk-abc"', ("models[0].api_key", 'did you mean "api_key_env"')),
    (SIM, f'{PAID}base_url = "https://me:pw@host/v1"', ("must not carry a user", "api_key_env")),
    (SIM, f"{SIM}\nparams_b = 70_000_000_000", ("params_b = 70000000000", "billions of parameters")),
    (SET, 'dataset = ["sample", "published"]', ('dataset = ["sample", "published"]', "must be")),
    (TABLE, f'[training]\ndevices = "gpu0"\n{TABLE}', ("training.devices: unknown key", 'did you mean "device"')),
    (TABLE, f'[deploy]\nstore = "s3:/bucket"\n{TABLE}', ("deploy.store", "s3://BUCKET/PREFIX")),
    (HOME, "runs = -1\nseeed = 1", ('did you mean "seed"', "(and 1 more mistake)")),
]  # fmt: skip

#: What is typed, and what the line must say. The board has one number, of gpt-4o.
TYPED: list[tuple[str, tuple[str, ...]]] = [
    ("bord", ('no command "bord"', 'did you mean "board"', "metacog --help")),
    ("status", ("status: Missing argument 'STUDY'", "as in: metacog status [OPTIONS] STUDY")),
    ("plan study.toml more", ("plan: ", "extra argument (more)", "metacog plan [OPTIONS] STUDY")),
    ("plan stduy.toml", ("stduy.toml: no such study file", 'did you mean "study.toml"', "metacog init")),
    ("board", ("board: Missing option '--study'", "metacog board [OPTIONS] [BENCHMARK]")),
    ("board --study", ("Option '--study' requires an argument",)),
    ("board --study study.toml --fromat csv", ("No such option '--fromat'", "Did you mean '--format'")),
    ("board --study study.toml --format jsn", ("'--format': 'jsn' is not one of 'table', 'csv'",)),
    ("board metamedq --study study.toml", ('"metamedq" is not on the board', 'did you mean "metamedqa"')),
    ("run study.toml --run x", ("run: ", "'--run': 'x' is not a valid integer")),
    ("run study.toml --run 7", ("--run 7", "runs 1 to 1", "raise study.runs")),
    ("run study.toml --quiet=1", ("'--quiet' does not take a value",)),
    ("run study.toml --model simm", ('"simm"', 'did you mean "sim"')),
    ("run study.toml --benchmark metamedq", ('"metamedq"', "study.toml", 'did you mean "metamedqa"')),
    ("show study.toml a b c", ("show: give BENCHMARK CONDITION MODEL MEASURE", "BENCHMARK ITEM")),
    ("compare sim thers --study study.toml", ('no model "thers"', 'did you mean "theirs"')),
    ("sql --study study.toml selct", ('near "selct"', "select model, estimate from leaderboard")),
    ("sql --study study.toml from+detail.leaderboard", ('name leaderboard does not exist',)),
    ("sql --study study.toml select+modl+from+leaderboard", ('column "modl" not found', '"model"')),
    ("sql --study study.toml drop+table+leaderboard", ("DROP is not allowed", "give a SELECT")),
    ("import metamedq f.csv --study study.toml --model theirs --run 1", ('"metamedq"', '"metamedqa"')),
    ("import metamedqa f.csv --study study.toml --model theirs --run 1", ("f.csv", "check the path")),
    ("import metamedqa known.csv --study study.toml --model sim --run 1", ('"sim"', 'provider = "replay"')),
    ("import study.toml f.csv --study study.toml", ("study.toml: tables are read from", "rename or convert")),
    ("run --study study.toml", ("run: No such option '--study'", "metacog run [OPTIONS] STUDY")),
    ("fit .", (".: is a folder", "give a file")),
    ("doctor --bundle nowhere.zip", ("nowhere.zip: no bundle, or damaged", "No such file", "get the archive again")),
    ("demo --folder study.toml", ("--folder study.toml: File exists", "give a folder you can write to")),
    ("sql --study study.toml select+*+from+leaderboard+where+model=sim", ('column "sim" not found', "'single quotes'")),
    ("plan own/wording.toml", ("nowhere.toml cannot be read: No such file or directory; give a UTF-8 TOML file",)),
    ("fit pointer.csv --correct ok --confidence conf", ("pointer.csv", "a pointer of Git LFS", "git lfs pull")),
    ("import metamedqa page.csv --study study.toml --model theirs --run 1", ("page.csv", "is a web page")),
    ("import metamedqa comma.json --study study.toml --model theirs --run 1", ("not JSON at line 1", "repair it there")),
    ("doctor study.toml --repair", ("--repair: give --kept with it",)),
    ("import metamedqa ids.csv --study study.toml --model theirs --run 1", ("row 2", "'sample-9999'", "121 items")),
    ("import known.csv --study study.toml", ("known.csv", "does not say which model answered", "--model")),
    ("import metamedqa empty.csv --study study.toml --model theirs --run 1", ("empty.csv",)),
    *((f"import metamedqa known.csv --study study.toml --model theirs --run 1 --map {pair}", parts)
      for pair, parts in (("item_id=nope", ("nope", "item_id", "choice")), ("colour=choice", ("colour", "item_id")),
                          ("item_id", ("field=column",)))),
    ("import metamedqa known.csv --study study.toml --model theirs --run 2", ("runs 1 to 1", "study.runs = 2")),
    ("ui study.toml --host nowhere.invalid", ('--host "nowhere.invalid"', "no address of this machine", "127.0.0.1")),
    ("sql --study study.toml select+model,avg(estimate)+from+leaderboard", ('"model" must appear in the GROUP BY',)),
    ("export study.toml --format csv --to ok.csv", ("ok.csv: is there already", "nothing is overwritten")),
    ("export study.toml --format csv", ("export: Missing option '--to'",)),
    ("doctor", ("doctor: give the STUDY", "--bundle FILE")),
    ("doctor --bundle ok.csv", ("ok.csv: no bundle, or damaged", "get the archive again")),
]  # fmt: skip

#: Files of answers that are typed about above.
DATA = {
    "page.csv": "<!DOCTYPE html>\n<html><body>Sign in</body></html>\n",
    "pointer.csv": "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12\n",
    "ok.csv": "ok,conf\n1,0.9\n0,0.2\n1,0.7\n0,0.4\n",
    "comma.json": '[{"item_id": "sample-0001", "choice": "A",}]',
    "quotes.jsonl": "{'item_id': 'sample-0001', 'choice': 'A'}\n",
    "one.json": '{"item_id": "sample-0001"}',
    "ids.csv": "item_id,choice,confidence\nsample-9999,A,4\n",
    "empty.csv": "",
    "known.csv": "item_id,choice,confidence\nsample-0000,A,4\n",
}

#: Words of pydantic, DuckDB and Python that no user's mistake is answered with.
FOREIGN = re.compile(
    r"Field required|Input (?:should|is)|should (?:match|have)|at least \d+ items?|extra_forbidden|pydantic|Value error"
    r"|TOMLDecode|(?:Parser|Binder|Catalog) Error"
    r"|LINE \d|Errno|Traceback|Error\(|<class"
)


def refused(result, *parts: str) -> str:
    result.refused_in_one_line(*parts)
    line = str(result.err.strip())
    assert line.startswith("metacog: ")
    assert not FOREIGN.search(line), line
    assert result.out == ""
    return line


@every(("old", "new", "parts"), IN_STUDY, ids=[repr(new)[:50] for _, new, _ in IN_STUDY])
def test_a_mistake_in_a_study_file(metacog, tmp_path, old, new, parts):
    assert STUDY.count(old) >= 1
    file = tmp_path / "study.toml"
    file.write_text(STUDY.replace(old, new, 1), encoding="utf-8")
    result = metacog("plan", file)
    line = refused(result, *parts)
    assert result.code == 2
    assert "study.toml" in line or "nowhere.toml" in line or "[benchmarks.metamedqa]" in line


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    """A study whose board has one number."""
    folder = tmp_path_factory.mktemp("typed")
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    own = STUDY.replace(ALL, "[benchmarks.questions]")
    (folder / "own").mkdir()
    (folder / "own/own.toml").write_text(own, encoding="utf-8")
    wording = STUDY.replace(ALL, '[benchmarks.metacogbench]\nwording = "nowhere.toml"')
    (folder / "own/wording.toml").write_text(wording, encoding="utf-8")
    for name, content in DATA.items():
        (folder / name).write_text(content, encoding="utf-8")
    home = Home(folder / "home")
    row = {"benchmark": "metamedqa", "dataset": "sample", "condition": "baseline", "model": "gpt-4o", "source": "measured",
           "measure": "accuracy", "estimate": 0.5, "n": 10, "coverage": 1.0, "status": "ok"}  # fmt: skip
    write(home, "estimates/metamedqa/models/gpt-4o.parquet", [row])
    write(home, "items/metamedqa.parquet", [{"item_id": "i", "dataset": "sample", "position": 0}])
    listed = {"model": "gpt-4o", "provider": "openai", "source": "measured", "listed": True, "runs": 1}
    write(home, "study/models.parquet", [listed])
    write(home, "study/study.parquet", [{"name": "t", "seed": 0, "digest": "d"}])
    build(home)
    return folder


@every(("typed", "parts"), TYPED, ids=[typed for typed, _ in TYPED])
def test_a_mistake_in_a_command(metacog, board, monkeypatch, typed, parts):
    monkeypatch.chdir(board)
    result = metacog(*(word.replace("+", " ") for word in typed.split()))
    refused(result, *parts)
    assert result.code in (2, 3, 4)


def test_a_list_with_one_wrong_element_is_one_mistake(metacog, tmp_path):
    file = tmp_path / "study.toml"
    file.write_text(STUDY.replace(ALL, '[benchmarks.questions]\nconditions = ["p-true"]'), encoding="utf-8")
    assert "more)" not in refused(metacog("plan", file), 'did you mean "p_true"')


def test_a_key_in_a_broken_file_is_not_shown(metacog, tmp_path):
    file = tmp_path / "study.toml"
    file.write_text(STUDY.replace(SIM, 'api_key = "sk-very-secret'), encoding="utf-8")
    assert "secret" not in refused(metacog("plan", file), "line 7")
