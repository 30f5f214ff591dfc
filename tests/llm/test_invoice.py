"""An invoice is read as it is exported, and held against what was charged by model and day."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metacog_pipeline.errors import StudyError
from metacog_pipeline.llm.invoice import OTHER, compared, read_invoice
from tests.tables import every

DAY, NEXT = date(2026, 11, 27), date(2026, 11, 28)


@pytest.fixture
def invoice(tmp_path):
    def write(text: str):
        path = tmp_path / "invoice.csv"
        path.write_bytes(text.encode("utf-8-sig"))
        return path

    return write


@every(
    ("text", "model"),
    [
        ("date,model,cost_usd\n2026-11-27,gpt-5,1.25\n2026-11-27,gpt-5,0.75\n", "gpt-5"),
        ('Start Time,Line item,Amount\n2026-11-27T00:00:00Z,"gpt-5, input",$1.25\n1795744800,"gpt-5, output",0.75\n',
         "gpt-5"),
        ("usage_date_utc,model,cost_usd,tokens\n2026-11-27,gpt-5,1.25 USD,9\n2026-11-28T01:00:00+02:00,gpt-5,0.75,9\n",
         "gpt-5"),
        ("date,model,cost\n2026-11-27,,2\n", OTHER),
    ],
)  # fmt: skip
def test_what_one_model_cost_in_a_day_is_added_up_however_the_columns_are_named(invoice, text, model):
    assert read_invoice(invoice(text)) == {(DAY, model): 2.0}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("date,model\n2026-11-27,m\n", "no column 'cost_usd'"),
        ("", "it has none"),
        ("date,model,cost\nyesterday,m,1\n", ":2: 'yesterday' is no day"),
        ("date,model,cost\n2026-11-27,m,much\n", ":2: 'much' is no number of dollars"),
        ("date,model,cost\n2026-11-27,m,nan\n", ":2: 'nan' is no number of dollars"),
    ],
)
def test_what_cannot_be_read_is_one_line_with_its_place(invoice, text, said):
    with pytest.raises(StudyError) as error:
        read_invoice(invoice(text))
    assert said in str(error.value) and "\n" not in str(error.value)


def test_a_dated_version_is_the_model_that_was_asked_for():
    charged = {(DAY, "gpt-5"): 2.0, (DAY, "gpt-5-mini"): 1.0}
    invoice = {(DAY, "gpt-5-2026-03-01"): 2.5, (DAY, "GPT-5-mini-2026-03-01"): 1.0, (DAY, "gpt-50"): 9.0}
    lines = {(each.model): each for each in compared(invoice, charged)}
    assert lines["gpt-5"].difference == 0.5
    assert lines["gpt-5-mini"].difference == 0.0
    assert (lines["gpt-50"].invoiced, lines["gpt-50"].charged) == (9.0, 0.0)


keys = st.tuples(st.sampled_from([DAY, NEXT]), st.sampled_from(["a", "b", "a-1"]))
dollars = st.integers(0, 10**6).map(lambda cents: cents / 100)


@given(invoice=st.dictionaries(keys, dollars), charged=st.dictionaries(keys, dollars))
def test_no_dollar_of_either_side_is_lost(invoice, charged):
    lines = compared(invoice, charged)
    assert sum(each.invoiced for each in lines) == pytest.approx(sum(invoice.values()))
    assert sum(each.charged for each in lines) == pytest.approx(sum(charged.values()))
    assert len({(each.day, each.model) for each in lines}) == len(lines)
