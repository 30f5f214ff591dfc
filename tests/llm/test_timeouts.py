from typing import Any

import pytest

from metacog_pipeline.llm.capabilities import Capabilities
from metacog_pipeline.llm.timeouts import EFFORT_FACTORS, STREAM_TOTAL_FACTOR, Timeouts, timeouts_of


def limits(bench: Any, reasons: bool | None = None, streamed: bool = True, **fields: Any) -> Timeouts:
    return timeouts_of(bench.spec(**fields), Capabilities(reasons=reasons), streamed=streamed)


@pytest.mark.parametrize(("effort", "factor"), [*EFFORT_FACTORS.items(), ("unheard", 3.0), (None, 3.0)])
def test_the_first_byte_may_take_longer_the_more_effort_is_asked_for(bench, effort, factor):
    spec = bench.spec(timeout_s=100.0).model_copy(update={"effort": effort})
    assert timeouts_of(spec, Capabilities(), streamed=True).first_byte == 100.0 * factor


def test_a_model_that_does_not_think_has_the_timeout_of_its_row(bench):
    found = limits(bench, reasons=False, timeout_s=100.0)
    assert (found.first_byte, found.silence, found.gap) == (100.0, 100.0, 100.0)


def test_a_model_that_may_think_may_be_silent_before_its_first_word(bench):
    found = limits(bench, reasons=True, timeout_s=100.0)
    assert (found.first_byte, found.silence, found.gap) == (300.0, 300.0, 100.0)
    assert found.total == STREAM_TOTAL_FACTOR * 300.0


def test_what_the_row_says_counts(bench):
    found = limits(bench, effort="max", first_byte_timeout_s=7.0, gap_timeout_s=3.0, total_timeout_s=11.0)
    assert found == Timeouts(first_byte=7.0, silence=3.0, gap=3.0, total=11.0)


def test_an_answer_in_one_piece_is_over_soon_after_its_first_byte_was_due(bench):
    assert limits(bench, reasons=False, streamed=False, timeout_s=100.0).total == 140.0
