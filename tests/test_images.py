"""``deploy/``: the image, the compose file and the values for Helm hold our rules; no engine is needed to see it."""

import re
import tomllib
from pathlib import Path
from typing import Any

import yaml

from metacog_pipeline.study import load_study

ROOT = Path(__file__).resolve().parents[1]
DEPLOY = ROOT / "deploy"
#: Keys of the official chart that are used here, from its own schema; another key would be read by nobody.
CHART = {
    "dagsterWebserver": {"replicaCount", "service"},
    "dagster-user-deployments": {"enabled", "enableSubchart", "deployments"},
    "postgresql": {"enabled", "postgresqlUsername", "postgresqlDatabase"},
    "rabbitmq": {"enabled"},
    "runLauncher": {"type", "config"},
    "dagsterDaemon": {"runCoordinator", "runMonitoring", "runRetries"},
    "telemetry": {"enabled"},
}
DEPLOYMENT = {
    *("name", "image", "port", "codeServerArgs", "includeConfigInLaunchedRuns", "env", "envSecrets"),
    *("securityContext", "volumes", "volumeMounts"),
}


def instructions() -> list[tuple[str, str]]:
    text = re.sub(r"\\\n", " ", (DEPLOY / "Dockerfile").read_text())
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(line.split(" ", 1)[0], line.split(" ", 1)[1]) for line in lines]


def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return found


def test_the_image_is_of_two_stages_and_runs_as_nobody_special():
    lines = instructions()
    stages = [value for word, value in lines if word == "FROM"]
    assert len(stages) == 2 and all(
        re.search(r":[\w.-]*\d", each) and ":latest" not in each for each in stages
    )
    last = lines[max(number for number, (word, _) in enumerate(lines) if word == "FROM") :]
    words = [word for word, _ in last]
    assert dict(last)["USER"] == "10001:10001" and words.index("USER") > words.index("RUN")
    assert "HEALTHCHECK" in words and dict(last)["CMD"].startswith("[")
    assert not any(word in ("ADD", "MAINTAINER") for word, _ in lines)
    assert not any("sudo" in value or "chmod 777" in value or "curl" in value for _, value in lines)
    assert not re.search(r"(?i)(password|secret|api_?key)\s*=", (DEPLOY / "Dockerfile").read_text())
    pip = next(value for word, value in lines if word == "RUN" and "pip install" in value)
    assert "--no-cache-dir" in pip and "--constraint constraints.txt" in pip


def test_what_the_image_copies_is_there_and_its_extras_too():
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text().split()
    for word, value in instructions():
        if word == "COPY" and not value.startswith("--from"):
            for name in value.split()[:-1]:
                assert (ROOT / name).exists() and f"!{name}" in ignored
        if word == "RUN" and (extras := re.search(r'"\.\[([\w,]+)\]"', value)):
            known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
            assert set(extras[1].split(",")) <= set(known)


def test_every_service_of_the_compose_file_is_watched_and_none_is_open_to_others():
    services = compose()["services"]
    assert set(services) == {"webserver", "daemon", "worker-1", "worker-2", "postgres", "redis", "store"}
    for name, each in services.items():
        watched = "healthcheck" in each or name == "webserver" or name.startswith("worker-")
        assert watched, "the web server has that of the image, and Dagster watches the runs of workers"
        assert each["restart"] == "unless-stopped" and not each.get("privileged")
        assert ":latest" not in each["image"] and ":" in each["image"]
        assert all(port.startswith("127.0.0.1:") for port in each.get("ports", ()))
        assert set(each.get("depends_on", ())) <= set(services)
        for volume in each.get("volumes", ()):
            source = volume.split(":")[0]
            assert source.startswith("$") or source in compose()["volumes"] or (DEPLOY / source).exists()
    for name in ("webserver", "daemon", "worker-1", "worker-2"):
        assert services[name]["read_only"] and services[name]["cap_drop"] == ["ALL"]
    assert compose()["services"]["worker-1"]["command"] == compose()["services"]["worker-2"]["command"]


def test_no_password_stands_in_the_compose_file():
    text = (DEPLOY / "compose.yaml").read_text()
    for name, value in re.findall(r"^\s*(\w*PASSWORD\w*|\w*SECRET\w*): (.*)$", text, re.MULTILINE):
        assert re.fullmatch(r"\$\{\w+:\?set \w+\}", value), name


def test_the_study_of_the_images_gets_the_variables_it_names():
    study = load_study(DEPLOY / "study.toml")
    service = compose()["services"]["daemon"]
    for name in (study.deploy.dagster_storage, study.deploy.broker):
        assert name in service["environment"]
    address = service["environment"][study.deploy.dagster_storage]
    assert address.startswith("postgresql+psycopg2://")
    assert str(study.home.path) == "/study/home" and "study:/study" in service["volumes"]


def test_commands_in_the_compose_file_are_commands_of_ours():
    from metacog_pipeline.cli import COMMANDS

    for each in compose()["services"].values():
        command = each.get("command", [])
        if command[:1] == ["metacog"]:
            assert command[1] in COMMANDS
        if command[:2] == ["python", "-m"]:
            assert (ROOT / "assets" / f"{command[2].replace('.', '/')}.py").exists()


def test_the_values_for_helm_are_keys_of_the_chart():
    values = yaml.safe_load((DEPLOY / "helm-values.yaml").read_text())
    assert {key: set(value) for key, value in values.items()} == CHART
    (deployment,) = values["dagster-user-deployments"]["deployments"]
    assert set(deployment) == DEPLOYMENT and deployment["securityContext"]["runAsNonRoot"] is True
    mounted = {each["name"] for each in deployment["volumeMounts"]}
    assert mounted == {each["name"] for each in deployment["volumes"]}
    launcher = values["runLauncher"]
    assert launcher["type"] == "K8sRunLauncher" and set(launcher["config"]) == {"k8sRunLauncher"}
    assert values["dagsterDaemon"]["runCoordinator"]["type"] == "QueuedRunCoordinator"
