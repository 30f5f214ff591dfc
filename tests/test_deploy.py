"""``[deploy]`` and ``dagster.yaml``: what is refused, in one line; what a user wrote stays."""

from pathlib import Path

import pytest
import yaml

from metacog_pipeline.deploy import DeploySection, write_instance_file
from metacog_pipeline.errors import StudyError
from metacog_pipeline.files import shipped
from metacog_pipeline.study import Study, load_study
from tests.tables import every

STUDY = """
[study]
name = "spread"
[[models]]
name = "alpha"
provider = "openai"
model = "m"
api_key_env = "ALPHA_KEY"
[benchmarks.metamedqa]
"""
POSTGRES = 'dagster_storage = "PG"\n'
CELERY = POSTGRES + 'executor = "celery"\nbroker = "REDIS"\n'


def study_of(folder: Path, deploy: str) -> Study:
    path = folder / "study.toml"
    path.write_text(STUDY + "[deploy]\n" + deploy)
    return load_study(path)


@every(
    ("deploy", "said"),
    [
        ('executor = "cellery"', r'deploy.executor = "cellery": must be .*did you mean "celery"'),
        ('launcher = "docker"', r"deploy.launcher: unknown key"),
        ('exekutor = "celery"', r'unknown key \(did you mean "executor"\?\)'),
        ('dagster_storage = "postgresql://me:hush@host/db"', r"deploy.dagster_storage: give the NAME of an env"),
        ('dagster_storage = ""', r"deploy.dagster_storage: give the NAME"),
        ('broker = "redis://:hush@host"', r"deploy.broker: give the NAME"),
        ('store = "s3://me:hush@bucket/x"', r"deploy.store: no store of this kind"),
        ('store = "s3://bucket/x?key=hush"', r"deploy.store: no store of this kind"),
        ('store = "http://[hush"', r"deploy.store: no store of this kind"),
        ('executor = "celery"', r'"celery": needs deploy.dagster_storage'),
        (POSTGRES + 'executor = "celery"', r'"celery": needs deploy.broker'),
        ('executor = "k8s"', r'"k8s": needs deploy.dagster_storage'),
        ('ledger = "postgres"', r'"postgres": needs deploy.dagster_storage'),
        ("workers = 0", r"deploy.workers = 0: must be greater"),
        ('workers = "4"', r"deploy.workers"),
        ("workers = 1e99", r"deploy.workers"),
    ],
)  # fmt: skip
def test_a_mistake_in_deploy_is_one_line_and_shows_no_secret(tmp_path, deploy, said):
    with pytest.raises(StudyError, match=said) as caught:
        study_of(tmp_path, deploy)
    assert "hush" not in str(caught.value)


def test_a_study_without_deploy_is_one_machine(tmp_path):
    study = study_of(tmp_path, "")
    assert study.deploy == DeploySection() and not study.deploy.queued
    study.deploy.check()
    write_instance_file(tmp_path, study.deploy)
    written = yaml.safe_load((tmp_path / "dagster.yaml").read_text())
    assert written == yaml.safe_load(shipped("data", "dagster.yaml").read_text())


def test_an_address_comes_from_its_variable(tmp_path, monkeypatch):
    deploy = study_of(tmp_path, CELERY).deploy
    monkeypatch.delenv("PG", raising=False)
    unset = r'dagster_storage = "PG": the variable is not set; export PG="postgres'
    with pytest.raises(StudyError, match=unset):
        deploy.check()
    monkeypatch.setenv("PG", "postgresql://me:hush@host/db")
    with pytest.raises(StudyError, match=r"not an address of the form postgresql\+psycopg2") as caught:
        deploy.check()
    assert "hush" not in str(caught.value)
    monkeypatch.setenv("PG", "postgresql+psycopg2://me:hush@host/db")
    monkeypatch.setattr("metacog_pipeline.deploy.find_spec", lambda name: None)
    monkeypatch.setenv("REDIS", "redis://host/0")
    missing = r"dagster_postgres, dagster_celery, not installed.*\[postgres,celery\]'"
    with pytest.raises(StudyError, match=missing):
        deploy.check()


def test_what_a_user_wrote_in_dagster_yaml_stays(tmp_path):
    study = study_of(tmp_path, CELERY + "workers = 9\n")
    study.prepare()
    path = study.home.dagster / "dagster.yaml"
    whole = yaml.safe_load(path.read_text())
    assert whole["storage"]["postgres"] == {"postgres_url": {"env": "PG"}}
    assert whole["concurrency"]["runs"]["max_concurrent_runs"] == 9
    assert whole["concurrency"]["pools"]["default_limit"] == 1, (
        "rates are shared between hosts by a ledger only"
    )
    shared = study_of(tmp_path, CELERY + 'ledger = "postgres"\nworkers = 9\n').deploy.instance_settings()
    assert shared["concurrency"]["pools"]["default_limit"] == 9
    mine = "# mine\nconcurrency: {runs: {max_concurrent_runs: 2}}\ntelemetry: {enabled: true}"
    path.write_text(mine)
    study.prepare()
    assert path.read_text() == mine


@pytest.mark.parametrize(
    "begins", ["# DAGSTER_HOME of a study. Copied", "# From here on filled in by metacog, anew"]
)
def test_a_file_that_an_earlier_version_wrote_is_ours(tmp_path, begins):
    (tmp_path / "dagster.yaml").write_text(f"{begins}\ntelemetry: {{enabled: true}}\n")
    write_instance_file(tmp_path, DeploySection())
    assert yaml.safe_load((tmp_path / "dagster.yaml").read_text())["telemetry"] == {"enabled": False}


def test_a_dagster_home_of_the_user_is_used_as_it_is(tmp_path, monkeypatch):
    own = tmp_path / "own"
    own.mkdir()
    monkeypatch.setenv("DAGSTER_HOME", str(own))
    study = study_of(tmp_path, "")
    study.prepare()
    assert study.home.dagster == own and "concurrency" in (own / "dagster.yaml").read_text()
    (own / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    own.chmod(0o500)
    study.prepare()
    assert (own / "dagster.yaml").read_text() == "telemetry: {enabled: false}\n"


def test_the_variables_of_a_study_are_names_only(tmp_path):
    assert study_of(tmp_path, CELERY).variables == {"PG", "REDIS", "ALPHA_KEY"}
