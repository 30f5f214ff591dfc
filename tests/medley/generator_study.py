"""A study file whose instances are made: from which seeds, and by whom."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

HEAD = '[study]\nname = "t"\nhome = "home"\nbudget_usd = 50.0\n[[models]]\nname = "measured"\nprovider = "simulated"\n'


def write_generator(
    folder: Path,
    seeds: Sequence[Mapping[str, object]],
    authors: Mapping[str, str],
    judges: Mapping[str, str],
    *,
    row: str = "price_in = 0.1\nprice_out = 0.1",
    url: str = "http://127.0.0.1:9",
    measured: str = "",
    medley: str = "",
    **generator: object,
) -> Path:
    """Write ``seeds.json`` and ``study.toml``; ``authors`` and ``judges`` are {name: family}, three judges verify.

    ``row`` is added to each of them, ``measured`` to the model that is measured, ``medley`` to the benchmark's table.
    """
    (folder / "seeds.json").write_text(json.dumps({"seeds": seeds}))
    text = f"{HEAD}{measured}\n"
    for table, people in (("authors", authors), ("judges", judges)):
        for name, family in people.items():
            text += f'[[{table}]]\nname = "{name}"\nprovider = "openai"\nmodel = "{name}"\nbase_url = "{url}/v1"\n'
            text += f'family = "{family}"\n{row}\n'
    text += (
        f'[benchmarks.medley]\nenabled = true\ndataset = "custom"\n{medley}\n[benchmarks.medley.generator]\n'
    )
    made = {"seed_file": "seeds.json", "verifiers": list(judges), **generator}
    text += "".join(f"{key} = {json.dumps(value)}\n" for key, value in made.items())
    (folder / "study.toml").write_text(text)
    return folder / "study.toml"
