"""``dagster.yaml``: what a user wrote stays as it is; what it does not say is filled in below a line that says so."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metacog_pipeline.errors import StudyError, one_line
from metacog_pipeline.files import shipped, write_text

if TYPE_CHECKING:
    from metacog_pipeline.deploy import DeploySection

NAME = "dagster.yaml"
MARK = "# From here on filled in by metacog, anew with every command: what you write above this line is left out below.\n"
_EARLIER = "# DAGSTER_HOME of a study."  # how the whole file began up to 0.2
#: Keys that say the same in other words: where one is said, the others are not filled in.
_SAME = (
    {"storage", "run_storage", "event_log_storage", "schedule_storage"},
    {"concurrency", "run_queue", "run_coordinator"},
)


def fill(folder: Path, deploy: DeploySection | None, variables: Sequence[str]) -> None:
    """Write what the ``dagster.yaml`` in ``folder`` does not say; a file that says everything is not touched.

    Raises ``StudyError`` if the file there is not YAML.
    """
    path = folder / NAME
    present = path.read_text(encoding="utf-8") if path.exists() else ""
    text = filled(present, deploy, variables, str(path))
    if text != present:
        write_text(path, text)


def filled(
    present: str, deploy: DeploySection | None, variables: Sequence[str] = (), shown: str = NAME
) -> str:
    """Return the text of a ``dagster.yaml``: what the user wrote of ``present``, then what is missing."""
    own = "" if present.startswith(_EARLIER) else present.partition(MARK)[0]
    said = _said(own, shown)
    blocks = _shipped() | ({} if deploy is None else _deployed(deploy, variables))
    left = [text for key, text in blocks.items() if not _covered(key, said)]
    if not left:
        return own
    return own + ("\n" if own and not own.endswith("\n") else "") + MARK + "\n".join(left)


def _covered(key: str, said: set[str]) -> bool:
    return key in said or any(key in same and same & said for same in _SAME)


def _said(own: str, shown: str) -> set[str]:
    if not own.strip():
        return set()
    import yaml  # comes with Dagster; only who wrote a file of his own waits for it

    try:
        found = yaml.safe_load(own)
    except (yaml.YAMLError, RecursionError) as error:
        raise StudyError(f"{shown}: not readable YAML ({one_line(str(error), 200)}); mend it") from None
    if found is None:
        return set()
    if not isinstance(found, dict):
        raise StudyError(f"{shown}: give KEY: VALUE lines, as Dagster's documentation of dagster.yaml says")
    return {str(key) for key in found}


def _shipped() -> dict[str, str]:
    """Return the shipped file as one text per key."""
    text = shipped("data", NAME).read_text(encoding="utf-8")
    blocks = re.split(r"^(?=[a-z_]+:)", text, flags=re.MULTILINE)[1:]
    return {block.partition(":")[0]: block.rstrip() + "\n" for block in blocks}


def _deployed(deploy: DeploySection, variables: Sequence[str]) -> dict[str, str]:
    """Return the keys that ``[deploy]`` decides."""
    found: dict[str, Any] = {}
    if deploy.queued or "workers" in deploy.model_fields_set:
        found["concurrency"] = _concurrency(deploy)
    if deploy.dagster_storage is not None:
        postgres = {"postgres_url": {"env": deploy.dagster_storage}}
        found["storage"] = {"postgres": postgres}
    if deploy.launcher == "docker":
        config = {"image": {"env": "METACOG_IMAGE"}, "env_vars": [*variables, "METACOG_IMAGE"]}
        found["run_launcher"] = _class("dagster_docker", "DockerRunLauncher", config)
    elif deploy.launcher == "k8s":
        config = {
            "job_image": {"env": "METACOG_IMAGE"},
            "service_account_name": {"env": "DAGSTER_K8S_SERVICE_ACCOUNT"},
            "instance_config_map": {"env": "DAGSTER_K8S_INSTANCE_CONFIG_MAP"},
            "dagster_home": {"env": "DAGSTER_HOME"},
            "env_vars": list(variables),
        }
        found["run_launcher"] = _class("dagster_k8s", "K8sRunLauncher", config)
    return {key: f"{key}: {json.dumps(value)}\n" for key, value in found.items()}


def _class(module: str, name: str, config: dict[str, Any]) -> dict[str, Any]:
    return {"module": module, "class": name, "config": config}


def _concurrency(deploy: DeploySection) -> dict[str, Any]:
    """Runs at once in all, and of those that ask: more than one only where rates are shared between processes."""
    asking = deploy.workers if deploy.ledger == "postgres" else 1
    return {
        "runs": {"max_concurrent_runs": deploy.workers},
        "pools": {"default_limit": asking, "granularity": "run"},
    }
