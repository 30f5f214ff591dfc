"""The report: one HTML page made from the leaderboard of a study, with its figures inside, readable without a network."""

from metacog_pipeline.report.page import build_report

__all__ = ["build_report"]
