"""Study files of tests, written from values, and studies that simulated respondents have answered."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

Keys = Mapping[str, Any]
SAMPLE: Mapping[str, Keys] = {"metamedqa": {"dataset": "sample"}}


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{name} = {_value(each)}' for name, each in value.items())} }}"
    return json.dumps(value)


def _table(head: str, keys: Keys) -> str:
    lines = (f"{name} = {_value(value)}" for name, value in keys.items() if value is not None)
    return "\n".join([head, *lines, ""])


def write_study(
    folder: Path,
    *models: Keys,
    benchmarks: Mapping[str, Keys] = SAMPLE,
    judges: Iterable[Keys] = (),
    **study: Any,
) -> Path:
    """Write ``study.toml`` into ``folder``, which is made where it is not there; keys that are None are left out."""
    folder.mkdir(exist_ok=True)
    tables = [_table("[study]", {"name": "t", "home": "home", **study})]
    tables += [_table("[[models]]", each) for each in models]
    tables += [_table("[[judges]]", each) for each in judges]
    tables += [_table(f"[benchmarks.{name}]", keys) for name, keys in benchmarks.items()]
    (folder / "study.toml").write_text("".join(tables), encoding="utf-8")
    return folder / "study.toml"


def metamedqa(**keys: Any) -> Mapping[str, Keys]:
    """Return the table of the benchmark that most studies of tests ask, on its sample."""
    return {"metamedqa": {"dataset": "sample", **keys}}


def asked(benchmark: type[Any], folder: Path) -> Any:
    """Return a benchmark bound to a small study whose two respondents have answered in sessions of their own."""
    # Most tests write a study file and nothing else: they load none of this.
    from metacog_pipeline.asking import construction, tasks
    from metacog_pipeline.asking.session import query_partition
    from metacog_pipeline.conformance.case import small_study

    study = small_study(benchmark, folder, benchmark.trial_settings)
    study.prepare()
    bound = benchmark.of(study)
    construction.build(bound)
    for each in tasks.partitions(bound):
        how = {"fingerprint": tasks.fingerprint(bound, each), "respond": bound.observer(each.spec.observer)}
        query_partition(each, tasks.tasks(bound, each.spec), bound.modes(each.spec), **how)
    return bound
