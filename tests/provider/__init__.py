"""A local provider for simulated respondents, with faults on request; it binds to loopback unless told otherwise."""

from tests.provider.app import Respond, SimulatedProvider
from tests.provider.faults import Fault, FaultPlan
from tests.provider.running import running, serve

__all__ = [
    "Fault",
    "FaultPlan",
    "Respond",
    "SimulatedProvider",
    "running",
    "serve",
]
