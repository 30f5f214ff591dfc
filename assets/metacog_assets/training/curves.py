"""Learning curves as a picture beside the asset."""

import dagster as dg
import polars as pl

from metacog_assets.showing import picture

REWARD, HELD_OUT, ACCURACY = "#3b82c4", "#d1603d", "#2f9e77"


def curves_plot(curves: pl.DataFrame) -> dg.MarkdownMetadataValue:
    """Return reward of the population, and d'type2 and accuracy on held-out questions, over the generations."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 2.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    trained = curves.drop_nulls("reward_mean")
    if trained.height:
        updates, mean = trained["updates"].to_numpy(), trained["reward_mean"].to_numpy()
        spread = trained["reward_sd"].to_numpy()
        left.fill_between(updates, mean - spread, mean + spread, color=REWARD, alpha=0.2)
        left.plot(updates, mean, color=REWARD)
    left.set(title="reward ± sd of the population", xlabel="generation")
    held = curves.drop_nulls("held_out_n")
    for column, colour, name in (("d_type2", HELD_OUT, "d′"), ("accuracy", ACCURACY, "accuracy")):
        found = held.drop_nulls(f"held_out_{column}")
        right.plot(
            found["updates"], found[f"held_out_{column}"], color=colour, marker="o", markersize=3, label=name
        )
    right.set(title="held-out questions", xlabel="generation")
    right.legend(frameon=False)
    return picture(figure, "learning curves")
