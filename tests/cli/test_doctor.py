"""``metacog doctor``: lines for people, JSON for programs, an exit code for scripts."""

import json

from metacog_pipeline.cli import running


def test_a_study_of_simulated_models_can_start(metacog, study):
    result = metacog("doctor", study)
    assert result.code == 0, result.out
    assert result.out.splitlines()[-1] == "A run can start."
    assert "[ok]   sim: costs nothing" in result.out.splitlines()
    assert "[ok]   theirs: is not asked" in result.out.splitlines()


def test_what_failed_decides_the_exit_code_and_json_says_the_same(metacog, study):
    keyless = 'name = "sim"\nprovider = "openai"\nmodel = "m"\napi_key_env = "NO_SUCH_KEY"\nprice_in = 1\nprice_out = 1'
    study.write_text(study.read_text().replace('name = "sim"\nprovider = "simulated"', keyless))
    result = metacog("doctor", study, "--offline")
    lines = result.out.splitlines()
    assert "[fail] sim: environment variable NO_SUCH_KEY is not set; export your key under it" in lines
    assert "1 of " in lines[-1] and "(no model was asked)" in result.out
    told = metacog("doctor", study, "--offline", "--json")
    assert result.code == told.code == 2
    assert [row["subject"] for row in json.loads(told.out) if row["state"] == "fail"] == ["sim"]


def test_a_run_says_once_that_a_price_is_missing_and_asks_all_the_same(metacog, study, monkeypatch):
    launched = []
    monkeypatch.setattr(running, "launch", lambda *given, **options: launched.append(options) or 0)
    billed = 'name = "sim"\nprovider = "openai"\nmodel = "m"'
    study.write_text(study.read_text().replace('name = "sim"\nprovider = "simulated"', billed))
    assert metacog("run", study).err.startswith(
        "metacog: sim has no price: set price_in and price_out (dollars per million tokens; 0 for a free model), or "
        "price_unknown = true; what it costs is not counted\n"
    )
    assert len(launched) == 1
    study.write_text(study.read_text().replace(billed, f"{billed}\nprice_unknown = true"))
    assert metacog("run", study).err.startswith("Next: ")
