"""Posterior draws as a file that ArviZ opens: netCDF with the group ``posterior``, for plots of one's own.

Needs the optional extra ``bayes`` (xarray with h5netcdf, and ArviZ to read the file with ``arviz.from_netcdf``); nothing
else here does. The axes are ``chain``, ``draw`` and, for criteria, ``criterion`` (1 .. K-1, ascending on the evidence
axis); the group's attributes tell label, seed and kind of model.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from metacog_pipeline.errors import MetacogError
from metacog_pipeline.files import replacing
from metacog_pipeline.stats.bayes.draws import inference_data
from metacog_pipeline.stats.bayes.single import Posterior

GROUP = "posterior"
ENGINE = "h5netcdf"


def layout(posterior: Posterior) -> dict[str, Any]:
    """Return the draws as plain arrays with dims, coords and attrs, ready for ``arviz.from_dict``.

    Raises MetacogError when the posterior has no draws: it has not converged, or the data say nothing.
    """
    if not posterior.converged:
        name = f" of {posterior.label}" if posterior.label else ""
        raise MetacogError(
            f"the posterior{name} has no draws to write: {posterior.status}, {posterior.reason}"
        )
    return inference_data(
        posterior.draws,
        label=posterior.label,
        seed=posterior.seed,
        estimate_dprime=int(posterior.estimate_dprime),
        conditional=int(posterior.conditional),
        trials=posterior.n,
    )


def write_netcdf(posterior: Posterior, path: Path) -> None:
    """Write the draws to ``path``, whole or not at all.

    Raises MetacogError as :func:`layout`, and where the extra ``bayes`` is not installed or the file cannot be written.
    """
    write_parts(layout(posterior), path)


def write_parts(parts: dict[str, Any], path: Path) -> None:
    """Write draws in the layout of `layout`; raises as `write_netcdf`."""
    try:
        import h5netcdf  # noqa: F401  # named here so that its absence is told apart from a broken file
        import xarray
    except ImportError as error:
        raise MetacogError(
            f"netCDF output needs {error.name}: install the extra with pip install 'metacog-pipeline[bayes]'"
        ) from None
    variables = {
        name: (("chain", "draw", *parts["dims"].get(name, [])), values)
        for name, values in parts["posterior"].items()
    }
    dataset = xarray.Dataset(variables, coords=parts["coords"], attrs=parts["attrs"])
    dataset = dataset.assign_coords(chain=range(dataset.sizes["chain"]), draw=range(dataset.sizes["draw"]))
    try:
        with replacing(path) as unfinished:
            dataset.to_netcdf(unfinished, group=GROUP, engine=ENGINE)
    except OSError as error:
        raise MetacogError(f"cannot write {path}: {error}") from None
