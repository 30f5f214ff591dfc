"""The plan tells what is left of the budget as the run will find it."""

import contextlib

from metacog_pipeline.asking.planning import plan_study
from metacog_pipeline.home import Home
from metacog_pipeline.llm.budget import Budget
from metacog_pipeline.llm.ledger import NANO
from metacog_pipeline.llm.ledger_records import Record, boot_id, line_of
from metacog_pipeline.study import load_study

STUDY = """
[study]
name = "t"
home = "home"
budget_usd = 10
[[models]]
name = "m"
provider = "openai"
model = "x"
price_in = 1
price_out = 1
[benchmarks.metamedqa]
dataset = "sample"
limit = 3
"""


def test_what_a_killed_run_may_have_cost_is_counted_once(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    ledger = tmp_path / "home" / "ledger"
    ledger.mkdir(parents=True)
    killed = Record(boot_id(), False, granted=5 * NANO, settled=2 * NANO, reserved=1 * NANO)
    (ledger / "session-killed.json").write_bytes(line_of(killed))
    line = next(note for note in plan_study(load_study(path)).notes if note.startswith("Budget"))
    assert "$3.0000 spent so far, of which $1.0000 may have been billed" in line
    assert "$7.0000 left" in line


def test_what_a_batch_holds_is_not_left(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    with contextlib.closing(Budget.open(Home(tmp_path / "home"), 10)) as budget:
        assert budget.hold("batch", 9.999)
    notes = plan_study(load_study(path)).notes
    line = next(note for note in notes if note.startswith("Budget"))
    assert "$0.0000 spent so far, $9.9990 set aside for what is under way, $0.0010 left" in line
    assert any(note.startswith("The budget could stop it at m on metamedqa") for note in notes)
