"""A provider that always gives the same answer: ``python -m metacog_pipeline.llm.server --help``."""

from __future__ import annotations

import argparse

from metacog_pipeline.llm.server.app import SimulatedProvider
from metacog_pipeline.llm.server.faults import FaultPlan
from metacog_pipeline.llm.server.running import serve


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description="A local provider that always gives the same answer.")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds per answer")
    parser.add_argument("--text", default='{"answer": "A", "confidence": 3}', help="the answer")
    parser.add_argument("--chunks", type=int, default=8, help="parts of a streamed answer")
    parser.add_argument("--gap", type=float, default=0.0, help="seconds between two parts")
    options = parser.parse_args()
    plan = FaultPlan(latency_s=options.latency, chunks=options.chunks, gap_s=options.gap)
    provider = SimulatedProvider(lambda model, request: str(options.text), plan)
    serve(provider, port=options.port)


if __name__ == "__main__":
    main()
