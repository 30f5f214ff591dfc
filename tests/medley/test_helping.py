"""Whoever helps to make instances is planned before a cent is spent, served over HTTP, and shown with how far it is."""

import json
from pathlib import Path

import pytest

from metacog_pipeline.asking import construction
from metacog_pipeline.asking.plan import PlanRow, plan_study
from metacog_pipeline.benchmarks.medley import Medley
from metacog_pipeline.benchmarks.medley.construction import asked, drafts
from metacog_pipeline.benchmarks.medley.construction.wording import load_words, parts_of
from metacog_pipeline.benchmarks.medley.items import CLAIM_IDS, DOMAINS, Consensus
from metacog_pipeline.benchmarks.medley.judging import suite
from metacog_pipeline.errors import SourceError
from metacog_pipeline.leaderboard.status import helper_states
from metacog_pipeline.llm.types import ChatRequest, Message, Sampling
from metacog_pipeline.study import Study, load_study
from tests.medley.generator_study import write_generator
from tests.provider import UnknownQuestion
from tests.simulated_server import ServerThread
from tests.study_respondents import respondents

WORDS = load_words()
DESIGNERS, POOL, JUDGES = ("d1", "d2"), tuple(f"p{n}" for n in range(9)), ("j1", "j2", "j3")
N_SEEDS = 5


def seeds() -> list[dict[str, object]]:
    return [
        {
            "seed_id": f"S{place}",
            "domain": domain,
            "scenario": f"A pump of plant {place} stops twice in one night, after a filter was changed.",
            "ambiguity": "The filter and the voltage both fit.",
            "intended_difficulty": "hard",
            "claims": [f"Cause {number} stopped pump {place}." for number in range(1, 6)],
        }
        for place, domain in enumerate(DOMAINS)
    ]


def write(folder: Path, url: str = "http://127.0.0.1:9", price: float = 0.1) -> Study:
    authors, judges = ({name: name for name in names} for names in ((*DESIGNERS, *POOL), JUDGES))
    row = f"price_in = {price}\nprice_out = {price}"
    named = f"judges = {json.dumps(JUDGES)}"
    path = write_generator(
        folder, seeds(), authors, judges, row=row, url=url, measured='family = "m"', medley=named,
        designers=DESIGNERS, analysts=POOL,
    )  # fmt: skip
    return load_study(path)


def simulated_people(folder: Path) -> Study:
    """Return a study whose simulated helpers can be served."""
    lines = ["[study]", 'name = "people"', 'home = "people"']
    lines += ["[[models]]", 'name = "measured"', 'provider = "simulated"', 'family = "m"']
    for table, names in (("authors", (*DESIGNERS, *POOL)), ("judges", JUDGES)):
        for place, name in enumerate(names):
            lines += [f"[[{table}]]", f'name = "{name}"', 'provider = "simulated"', f'family = "{name}"']
            lines += [f"observer = {{ seed = {place} }}"]
    lines += ["[benchmarks.medley]", "enabled = true"]
    lines += ['dataset = "sample"', f"judges = {json.dumps(JUDGES)}"]
    (folder / "people.toml").write_text("\n".join(lines) + "\n")
    study = load_study(folder / "people.toml")
    study.prepare()
    construction.build(Medley.of(study))
    return study


@pytest.fixture(scope="module")
def voices(tmp_path_factory):
    return respondents(simulated_people(tmp_path_factory.mktemp("people")))


def by_name(rows: tuple[PlanRow, ...]) -> dict[tuple[str, str], PlanRow]:
    return {(row.benchmark, row.model): row for row in rows}


def test_of_a_study_that_made_nothing_yet_what_is_known_is_planned_and_the_rest_is_named(tmp_path):
    study = write(tmp_path)
    plan = plan_study(study)
    assert {key: row.calls for key, row in by_name(plan.rows).items()} == {
        **{("medley_judge_suite", name): 3 * len(suite.answers()) for name in JUDGES},
        **{("medley_designers", name): 2 * N_SEEDS for name in DESIGNERS},
    }
    for row in plan.rows:
        assert row.runs == 1 and row.to_ask == row.calls
        assert row.tokens_in > 50 * row.calls and row.tokens_out > 0 and row.at_most_usd > 0
    assert any(note.startswith("medley: its items are not made yet") for note in plan.notes)
    assert not any("The budget is enough" in note for note in plan.notes)
    assert construction.stale_steps(Medley.of(study))[:2] == ("judge_suite", "designs")
    assert not (study.home.items / "medley.parquet").exists() and not list(study.home.transcripts.iterdir())


def test_a_plan_without_its_seeds_is_one_line(tmp_path):
    study = write(tmp_path)
    (tmp_path / "seeds.json").unlink()
    with pytest.raises(SourceError, match=r"seeds\.json") as told:
        plan_study(study)
    assert "\n" not in str(told.value)


def test_what_is_served_makes_a_set_and_costs_no_more_than_was_planned(tmp_path, voices):
    assert set(voices) == {"measured", *DESIGNERS, *POOL, *JUDGES}
    with ServerThread(lambda model, request: voices[model](request)) as server:
        study = write(tmp_path, server.url)
        planned = by_name(plan_study(study).rows)
        assert {state.state for state in helper_states(study)} == {"missing"}
        bench = Medley.of(study)
        made = {name: construction.run_step(bench, construction.step_of(bench, name))
                for name in construction.stale_steps(bench)}  # fmt: skip
    assert 0 < len(bench.items) <= N_SEEDS
    spent: dict[str, float] = {}
    for stage, benchmark in (
        ("judge_suite", "medley_judge_suite"),
        ("designs", "medley_designers"),
        ("opinions", "medley_pool"),
        ("verification", "medley_verification"),
    ):
        spent[benchmark] = made[stage].facts["cost_usd"]
    for benchmark, cost in spent.items():
        most = sum(row.at_most_usd or 0 for (name, _), row in planned.items() if name == benchmark)
        assert 0 < cost <= (most or cost)
    states = helper_states(study)
    assert {state.state for state in states} == {"complete"} and len(states) == 17
    assert all(state.n_answered == state.n_expected > 0 for state in states)
    after = by_name(plan_study(study).rows)
    assert all(row.to_ask == 0 for (name, _), row in after.items() if name in spent)
    assert after["medley", "measured"].calls == 3 * len(bench.items)
    changed = study.home.items / "medley" / "drafts.parquet"
    changed.unlink()
    assert {(s.benchmark, s.n_expected) for s in helper_states(study) if s.state != "complete"} == {
        ("medley_pool", 0),
        ("medley_verification", 0),
    }


def request(message: str) -> ChatRequest:
    return ChatRequest((Message("user", message),), Sampling())


def test_simulated_people_answer_every_seed_and_keep_to_the_form(tmp_path, voices):
    (tmp_path / "seeds.json").write_text(json.dumps({"seeds": seeds()}))
    for seed in drafts.read_seeds(tmp_path / "seeds.json"):
        text = str(voices["d1"](request(asked.design_message(seed, WORDS))))
        assert asked.read_design(text) is not None
        draft = asked.draft_of(seed, [text])
        assert draft is not None and draft.claim_texts == seed.claims
        message = asked.analyst_message(draft, WORDS)
        assert asked.read_analyst(str(voices["p1"](request(message))), draft) is not None
        again = f"{message}\n\n{WORDS.text('analyst_again')}"
        assert asked.read_analyst(str(voices["p1"](request(again))), draft) is not None
        assert asked.verification_tasks([(draft, Consensus(dict.fromkeys(CLAIM_IDS, 0.9)))], WORDS)
        for shown in ("the statement holds (0.90)", "the statement does not hold (0.10)"):
            claim = draft.claim_texts[0]
            told = WORDS.filled("verify", vignette=draft.vignette, claim=claim, consensus=shown)
            assert asked.read_verdict(str(voices["j1"](request(told)))) in ("AGREE", "DISAGREE")
    with pytest.raises(UnknownQuestion):
        voices["p1"](request("What is 2 + 2?"))


def test_places_are_read_back_whatever_stands_in_them():
    filled = WORDS.filled("verify", vignette="a\n\nStatement: b (.*)", claim="{{claim}}", consensus="\\d")
    parts = parts_of(WORDS.text("verify"), filled)
    assert parts is not None and set(parts) == {"vignette", "claim", "consensus"}
    assert parts["consensus"] == "\\d" and parts_of(WORDS.text("analyst"), filled) is None
