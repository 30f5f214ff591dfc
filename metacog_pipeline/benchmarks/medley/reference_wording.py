"""The prompts in the words of the authors' package, read from where it is installed or from a folder; never shipped.

``wording = "reference"`` takes the installed package ``medley-bench``, ``wording = "FOLDER"`` a folder that holds it (or
its ``prompts``). Only the texts are read, as literals: nothing of the package is imported or run. Analysts and consensus
are then printed as the package prints them, so that all three messages are the package's own byte for byte.
"""

from __future__ import annotations

import ast
import functools
import importlib.metadata
from collections.abc import Mapping
from pathlib import Path
from string import Formatter

from metacog_pipeline.benchmarks.medley.items import STEPS
from metacog_pipeline.benchmarks.medley.prompts import PLACE, Wording, load_wording
from metacog_pipeline.errors import StudyError

REFERENCE = Path("reference")
ID = "authors"
PACKAGE = "medley-bench"
_PROMPTS = Path("src", "tracks", "metacognition", "prompts")
_TEMPLATE = "PROMPT_TEMPLATE"
# What the package calls what is filled in.
_NAMES = {
    "vignette": "vignette",
    "step_a_response": "step_a",
    "analyst_outputs": "analysts",
    "jackknifed_consensus": "consensus",
}
_NEEDED: Mapping[str, frozenset[str]] = {
    "step_a": frozenset({"vignette"}),
    "b_private": frozenset({"vignette", "step_a_response"}),
    "b_social": frozenset(_NAMES),
}


def load(path: Path | None) -> Wording:
    """Return a wording: the shipped one for None, that of a folder of the authors' package, else that of a TOML file."""
    return authors_wording(path) if path is not None and path.is_dir() else load_wording(path)


def installed() -> Wording:
    """Return the wording of the installed package; StudyError where there is none."""
    try:
        root = Path(str(importlib.metadata.distribution(PACKAGE).locate_file("")))
    except importlib.metadata.PackageNotFoundError:
        raise StudyError(
            f'benchmarks.medley.wording = "reference": the package {PACKAGE} is not installed; install it '
            f'(pip install --no-deps {PACKAGE}), or name a folder that holds it: wording = "FOLDER"'
        ) from None
    return authors_wording(root)


@functools.lru_cache(maxsize=4)
def authors_wording(folder: Path) -> Wording:
    """Return the wording of a folder that holds the package, or of its ``prompts``; StudyError for another."""
    prompts = folder / _PROMPTS if (folder / _PROMPTS).is_dir() else folder
    steps = {step: _text(prompts / f"step_{step.removeprefix('step_')}.py", step) for step in STEPS}
    fixed = dict.fromkeys(("scale", "own_claims", "given_claims", "given_claims_again"), "")
    return Wording(ID, {**fixed, **steps}, fences=False, authors=True)


def _text(path: Path, step: str) -> str:
    """Return a template of the package with its places as this project writes them."""
    try:
        parts = list(Formatter().parse(_template(path)))
    except ValueError:  # a brace that is neither doubled nor of a place
        parts = []
    names = [name for _, name, _, _ in parts if name is not None]
    text = "".join(
        words + ("" if name is None else "{{" + _NAMES.get(name, name) + "}}") for words, name, *_ in parts
    )
    if set(names) != _NEEDED[step] or len(PLACE.findall(text)) != len(names):
        raise StudyError(
            f"{path}: the places of {_TEMPLATE} are {', '.join(sorted(names)) or 'none'}; "
            f"{', '.join(sorted(_NEEDED[step]))} are needed; give the folder of {PACKAGE} 0.5"
        )
    return text


def _template(path: Path) -> str:
    try:
        module = ast.parse(path.read_text("utf-8"))
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        raise StudyError(
            f"{path}: not a module of {PACKAGE} that can be read; name the folder it is installed in"
        ) from None
    for node in module.body:
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Constant):
            continue
        if [getattr(each, "id", "") for each in node.targets] == [_TEMPLATE] and isinstance(
            node.value.value, str
        ):
            return node.value.value
    raise StudyError(f"{path}: {_TEMPLATE} is no text there; give the folder of {PACKAGE} 0.5")
