"""A provider for tests: one engine for the dialects of OpenAI, Anthropic and Gemini, with faults and batches on request."""

from tests.provider.engine import Respond, SimulatedProvider, UnknownQuestion
from tests.provider.faults import Fault, FaultPlan

__all__ = ["Fault", "FaultPlan", "Respond", "SimulatedProvider", "UnknownQuestion"]
