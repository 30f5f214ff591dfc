"""What of a study's benchmarks is loaded before processes are forked."""

from types import SimpleNamespace

from metacog_assets import study_file
from metacog_pipeline import registry


def test_benchmarks_of_this_package_are_loaded_before_a_fork_and_those_of_others_are_not(monkeypatch):
    loaded = []
    study = SimpleNamespace(enabled=("medley", "theirs"))
    monkeypatch.setenv(study_file.VARIABLE, "study.toml")
    monkeypatch.setattr(study_file, "current_study", lambda: study)
    monkeypatch.setattr(
        registry, "package_of", lambda name: "elsewhere" if name == "theirs" else "metacog_pipeline"
    )
    monkeypatch.setattr(registry, "load", loaded.append)
    study_file.load_own_benchmarks()
    assert loaded == ["medley"]


def test_what_is_wrong_with_a_study_is_left_to_whoever_needs_it(monkeypatch, tmp_path):
    monkeypatch.setenv(study_file.VARIABLE, str(tmp_path / "missing.toml"))
    study_file.load_own_benchmarks()
    monkeypatch.delenv(study_file.VARIABLE)
    study_file.load_own_benchmarks()
