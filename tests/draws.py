"""Few resamples, for tests of what does not hang on how many there are."""

import sys
from importlib import import_module
from types import FunctionType

import pytest

from metacog_pipeline import registry

# What counts resamples, and modules that take a copy of it: loaded while few are drawn, they would keep the few.
_DRAWS = ("N_BOOT", "N_DRAWS", "N_TESTED", "NULL_DRAWS", "N_BOOT_SIDES", "N_REFITTED")
_COPIES = (
    *(f"metacog_pipeline.scoring.{name}" for name in ("calibration", "model_pairs")),
    *(f"metacog_pipeline.stats.{name}" for name in ("agreement_many", "mafc.efficiency", "robust")),
)


def few_draws(patch: pytest.MonkeyPatch, n: int = 40) -> None:
    """Make every resampling of the package draw ``n`` times."""
    for name in _COPIES:
        import_module(name)
    for name in registry.names():
        registry.load(name)
    modules = [each for name, each in sorted(sys.modules.items()) if name.startswith("metacog_pipeline.")]
    for module in modules:
        for name in _DRAWS:
            if isinstance(getattr(module, name, None), int):
                patch.setattr(module, name, n)
        for function in vars(module).values():
            if not isinstance(function, FunctionType) or function.__module__ != module.__name__:
                continue
            for name, given in (function.__kwdefaults__ or {}).items():
                if name in ("n_boot", "n_draws") and isinstance(given, int) and given > n:
                    patch.setitem(function.__kwdefaults__, name, n)
            if function.__defaults__ is not None:
                code = function.__code__
                names = code.co_varnames[code.co_argcount - len(function.__defaults__) : code.co_argcount]
                placed = zip(names, function.__defaults__, strict=True)
                fewer = tuple(n if name in ("n_boot", "n_draws") and each else each for name, each in placed)
                if fewer != function.__defaults__:
                    patch.setattr(function, "__defaults__", fewer)
