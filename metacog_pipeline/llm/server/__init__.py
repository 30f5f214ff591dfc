"""A local provider for simulated respondents, with faults on request; it binds to loopback unless told otherwise."""

from metacog_pipeline.llm.server.app import FAULT_HEADER, Respond, SimulatedProvider
from metacog_pipeline.llm.server.faults import Fault, FaultPlan
from metacog_pipeline.llm.server.running import running, serve

__all__ = [
    "FAULT_HEADER",
    "Fault",
    "FaultPlan",
    "Respond",
    "SimulatedProvider",
    "running",
    "serve",
]
