"""The picture of patching, after Figures 4 to 6 of arXiv 2602.02605."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from markupsafe import Markup

from metacog_pipeline.files import replacing
from metacog_pipeline.report import exhibits, pieces
from metacog_pipeline.report.figures import PALETTE, Point

_PANELS = (("d_type2", "d′type2"), ("raw_alignment", "alignment"), ("accuracy", "accuracy"))


def draw_patching(path: Path, table: pl.DataFrame) -> None:
    """Write measures over the share of changes that is put into the base, from the top and from the bottom, as
    SVG."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 3.4), layout="constrained", facecolor="white")
    for axes, (measure, label) in zip(figure.subplots(1, len(_PANELS)), _PANELS, strict=True):
        found = table.filter(pl.col("measure") == measure).drop_nulls("low").sort("share")
        for side, colour in zip(("top", "bottom"), PALETTE, strict=False):
            part = found.filter(pl.col("side") == side)
            share, low, high = (part[name].to_numpy() for name in ("share", "low", "high"))
            axes.plot(share, part["estimate"].to_numpy(), color=colour, marker="o", markersize=3, label=side)
            axes.fill_between(share, low, high, color=colour, alpha=0.15)
        axes.set(title=label, xlabel="share of the changes kept", xlim=(0, 1))
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
    with replacing(path) as temporary, mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": path.name}):
        figure.savefig(temporary, format="svg", metadata={"Date": None})


def patched_figures(path: Path, side: str) -> list[Markup]:
    """Return d′ and alignment with a share of the changes, for the report; nothing where nothing was patched."""
    if not path.exists():
        return []
    drawn, points = ("d_type2", "raw_alignment"), dict[str, dict[str, Point]]()
    own = pl.read_parquet(path, glob=False).filter(pl.col("measure").is_in(drawn), side=side)
    listed = own.drop_nulls("estimate").sort("share").select("share", "measure", "estimate", "low", "high")
    for share, name, *ends in listed.iter_rows():
        points.setdefault(f"{share:.0%}", {})[name] = Point(*ends)
    said = f"the study's trained model with a share of its weight changes, from the {side}"
    columns, n = [exhibits.Column(name) for name in drawn], "the questions held out"
    found = exhibits.forests(list(points.items()), {}, columns, x=said, n=n, method="item bootstrap")
    return [pieces.grid(found)]
