"""Every installed benchmark fulfils the contract."""

from __future__ import annotations

import pytest

from metacog_pipeline import registry
from metacog_pipeline.conformance import CHECKS, Tried, name_of, try_benchmark


@pytest.fixture(scope="module", params=registry.names())
def tried(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Tried:
    return try_benchmark(registry.load(request.param), tmp_path_factory.mktemp(request.param))


@pytest.mark.parametrize("check", CHECKS, ids=name_of)
def test_it_fulfils_the_contract(check, tried: Tried) -> None:
    check(tried)
