"""The whole construction runs on the sample, is the same everywhere, and survives whatever the pool or a file says."""

import asyncio
import itertools
import json
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metacog_pipeline.asking import construction
from metacog_pipeline.asking.types import Answer, Task
from metacog_pipeline.benchmark.contract import Checked
from metacog_pipeline.benchmarks.medley import Medley
from metacog_pipeline.benchmarks.medley.construction import drafts, simulated_authors, steps, tables
from metacog_pipeline.benchmarks.medley.construction.asked import (
    analyst_message,
    designer_tasks,
    draft_of,
    pool_tasks,
    read_analyst,
    read_design,
    texts_of,
    verdict_id,
    verification_tasks,
)
from metacog_pipeline.benchmarks.medley.construction.drafts import Draft
from metacog_pipeline.benchmarks.medley.construction.pipeline import limited
from metacog_pipeline.benchmarks.medley.construction.published import read_set
from metacog_pipeline.benchmarks.medley.construction.wording import load_words
from metacog_pipeline.benchmarks.medley.items import CLAIM_IDS, Consensus, Instance, KnownAnswer
from metacog_pipeline.errors import SourceError
from metacog_pipeline.llm.types import ChatRequest, Message, Sampling, Status
from metacog_pipeline.study import load_study
from tests.medley.bound import replace
from tests.tables import every

WORDS = load_words()


def analyst_reply(
    sample: simulated_authors.Sample, draft: Draft, analyst: simulated_authors.Person, attempt: int = 1
) -> str:
    asked = analyst_message(draft, WORDS)
    if attempt > 1:
        asked += f"\n\n{WORDS.text('analyst_again')}"
    return simulated_authors.SimulatedAuthor(analyst, WORDS, sample)(
        ChatRequest((Message("user", asked),), Sampling())
    )


def made_of(draft: Draft, replies: dict[str, list[str]]) -> tuple[list[Instance], dict[str, str]]:
    """Take one draft through all steps, with nobody to verify its consensus."""
    frames = {"drafts": tables.draft_frame([draft])}
    said = {name: {draft.draft_id: texts} for name, texts in replies.items()}
    known = frames.__getitem__
    frames["opinions"] = steps.opinions(known, said, {}).frame
    for name in ("disagreement", "consensus"):
        frames[name] = getattr(steps, name)(known).frame
    frames["verification"] = steps.verification(known, {}).frame
    frames["panels"] = steps.panels(known).frame
    return steps.assembled(known, "custom"), steps.left_out(known)


@pytest.fixture(scope="module")
def sample():
    return simulated_authors.read_sample()


def ask_all(tasks: Sequence[Task], reply: object) -> list[tuple[str, str]]:
    """Run tasks with answers from a function of (step, prompt); return what was asked."""
    asked: list[tuple[str, str]] = []

    async def ask(step: str, messages: Sequence[Message], **_: object) -> Answer:
        asked.append((step, messages[0].content))
        return Answer(Status.OK, reply(step, messages[0].content))  # type: ignore[operator]

    for task in tasks:
        asyncio.run(task.run(ask, "text"))
    return asked


# --- the sample --------------------------------------------------------------------------------------------------


def test_a_larger_limit_only_adds(make_instance):
    every = [make_instance(instance_id=f"I{place}") for place in range(12)]
    names = [{each.item_id for each in limited(every, number, 7)} for number in (0, 1, 4, 9, 99)]
    assert all(small <= large for small, large in itertools.pairwise(names))
    assert [len(each) for each in names] == [0, 1, 4, 9, 12]
    assert [each.position for each in limited(every, 4, 7)] == [0, 1, 2, 3]


def test_replies_of_the_pool_vary_and_some_cannot_be_read_at_first(sample):
    first = [analyst_reply(sample, d, a) for d in sample.drafts for a in sample.analysts]
    assert len(set(first)) == len(first)
    drafts = [d for d in sample.drafts for _ in sample.analysts]
    readable = [read_analyst(text, draft) is not None for text, draft in zip(first, drafts, strict=True)]
    assert 0.9 < sum(readable) / len(readable) < 1
    second = [analyst_reply(sample, d, a, attempt=2) for d in sample.drafts for a in sample.analysts]
    assert all(read_analyst(text, draft) for text, draft in zip(second, drafts, strict=True))
    assert not any(
        "{" in item["reasoning"] for text in second for item in json.loads(text)["claim_level_assessments"]
    )


# --- the stages --------------------------------------------------------------------------------------------------


def test_drafts_nobody_disagrees_about_are_left_out_and_named(sample):
    draft = sample.drafts[0]
    text = json.dumps({"claim_level_assessments": [{"claim_id": c, "confidence": "high"} for c in CLAIM_IDS]})
    replies = {f"m{n}": [text] for n in range(9)}
    instances, left_out = made_of(draft, replies)
    assert instances == [] and "nobody disagrees" in left_out[draft.draft_id]
    kept, _ = made_of(replace(draft, known_answer=KnownAnswer("x", "C1")), replies)
    assert len(kept) == 1 and kept[0].is_known_answer and kept[0].consensus.claim_confidences["C1"] == 1.0


def test_analysts_who_cannot_be_read_are_not_counted_as_raters(sample):
    draft = sample.drafts[0]
    texts = {a.name: [analyst_reply(sample, draft, a, attempt=2)] for a in sample.analysts}
    texts[sample.analysts[0].name] = ["sorry", "no"]
    ((made,), _) = made_of(draft, texts)
    assert {claim.n_rated for claim in made.claims} == {len(sample.analysts) - 1}


@settings(max_examples=150)
@given(
    st.text()
    | st.recursive(
        st.none() | st.text() | st.floats(),
        lambda x: (
            st.lists(x)
            | st.dictionaries(st.sampled_from(["claim_level_assessments", "claim_id", "confidence"]), x)
        ),
    ).map(json.dumps)
)
def test_any_reply_is_read_or_refused_whole(text):
    draft = simulated_authors.read_sample().drafts[0]
    found = read_analyst(text, draft)
    if found is not None:
        assert [item["claim_id"] for item in found["claim_level_assessments"]] == list(CLAIM_IDS)
    read_design(text)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda items: items[:4],
        lambda items: [*items, items[0]],
        lambda items: [*items[:4], items[0]],
        lambda items: [*items[:4], {**items[4], "claim_id": "C6"}],
        lambda items: [*items[:4], {**items[4], "confidence": "likely"}],
        lambda items: [*items[:4], {**items[4], "confidence": 0.7}],
        lambda items: [*items[:4], "C5 high"],
    ],
)
def test_a_reply_must_rate_exactly_the_five_claims(spoil, sample):
    draft = sample.drafts[0]
    reply = json.loads(analyst_reply(sample, draft, sample.analysts[1]))
    assert read_analyst(json.dumps(reply), draft)
    reply["claim_level_assessments"] = spoil(reply["claim_level_assessments"])  # type: ignore[operator]
    assert read_analyst(json.dumps(reply), draft) is None


def test_claims_keep_their_own_texts_and_labels_one_spelling(sample):
    draft = sample.drafts[0]
    items = [{"claim_id": c, "confidence": "Very High", "claim_text": "mine"} for c in reversed(CLAIM_IDS)]
    found = read_analyst(json.dumps({"claim_level_assessments": items}), draft)
    assert found is not None
    assert [item["claim_text"] for item in found["claim_level_assessments"]] == list(draft.claim_texts)
    assert {item["confidence"] for item in found["claim_level_assessments"]} == {"very_high"}


def test_analysts_are_asked_again_only_where_they_cannot_be_read(sample):
    drafts = sample.drafts[:2]
    good = analyst_reply(sample, drafts[1], sample.analysts[1])
    asked = ask_all(
        pool_tasks(drafts, WORDS), lambda step, prompt: good if drafts[1].vignette in prompt else "no"
    )
    assert [step for step, _ in asked] == ["analyse", "analyse_again", "analyse"]
    assert asked[1][1].startswith(asked[0][1]) and asked[1][1] != asked[0][1]
    for draft in drafts:
        shown = [prompt for _, prompt in asked if draft.vignette in prompt]
        assert shown and all(f"{c}: {text}" in shown[0] for c, text in draft.claims.items())


def test_texts_that_look_like_places_are_not_filled_in(sample):
    odd = replace(sample.drafts[0], vignette="Case with {{claims}} and {{scale}}.")
    ((_, prompt), _) = ask_all(pool_tasks([odd], WORDS), lambda *_: "no")
    assert "Case with {{claims}} and {{scale}}." in prompt


def test_judges_are_asked_once_per_claim_and_see_the_view_of_the_pool(sample):
    draft = sample.drafts[0]
    consensus = Consensus(dict(zip(CLAIM_IDS, (0.9, 0.1, 0.5, 0.6, 0.4), strict=True)))
    tasks = verification_tasks([(draft, consensus)], WORDS)
    asked = ask_all(tasks, lambda *_: '{"verdict": "AGREE"}')
    assert [task.item_id for task in tasks] == [verdict_id(draft.draft_id, claim) for claim in CLAIM_IDS]
    assert len(asked) == 5 and all(
        text in prompt for text, (_, prompt) in zip(draft.claim_texts, asked, strict=True)
    )
    assert len({task.item_hash for task in tasks}) == 5


# --- through transcripts -----------------------------------------------------------------------------------------


def transcripts(tasks: Sequence[Task], respond: object) -> pl.DataFrame:
    """Ask a simulated respondent and keep what a store would keep."""
    rows: list[dict[str, object]] = []
    for task in tasks:

        async def ask(step: str, messages: Sequence[Message], *, task: Task = task, **_: object) -> Answer:
            request = ChatRequest(tuple(messages), Sampling(), step=step)
            assert respond.knows(request)  # type: ignore[attr-defined]
            text = respond(request)  # type: ignore[operator]
            common = {"item_id": task.item_id, "item_hash": task.item_hash, "step": step, "model": "a"}
            rows.append({**common, "status": "ok", "text": text, "started_at": len(rows)})
            return Answer(Status.OK, text)

        asyncio.run(task.run(ask, "text"))
    return pl.DataFrame(rows)


def test_answers_that_failed_or_answer_another_text_are_left_out(sample):
    draft, analyst = sample.drafts[0], sample.analysts[1]
    frame = transcripts(pool_tasks([draft], WORDS), simulated_authors.SimulatedAuthor(analyst, WORDS, sample))
    for spoiled in (
        frame.with_columns(status=pl.lit("failed")),
        frame.with_columns(item_hash=pl.lit("0" * 64)),
        frame.with_columns(model=pl.lit("b")),
        frame.clear(),
        pl.DataFrame(),
    ):
        assert texts_of(spoiled, "a", {draft.draft_id: draft.item_hash}, ["analyse"]) == {}
    ((text,),) = texts_of(frame, "a", {draft.draft_id: draft.item_hash}, ["analyse"]).values()
    assert read_analyst(text, draft) is not None


def test_seeds_nobody_wrote_a_case_for_are_named():
    other = replace(SEED, seed_id="S2", scenario="Another.")
    said = {"d": {SEED.seed_id: ['{"vignette": "A case."}'], other.seed_id: ["no"]}}
    frames = {"seeds": steps.seeds([SEED, other]).frame}
    frames["designs"] = steps.designs(frames.__getitem__, said).frame
    made = steps.drafts(frames.__getitem__)
    assert made.frame["vignette"].to_list() == ["A case."] and made.facts["seeds without a case"] == 1
    assert made.checks["every_seed_has_a_draft"] == Checked(False, {"found": 1, "of": 2})
    with pytest.raises(SourceError, match="no designer wrote"):
        steps.drafts({**frames, "designs": frames["designs"].clear()}.__getitem__)


def test_simulated_authors_know_their_own_requests_and_no_others(sample):
    strange = ChatRequest((Message("user", "Who are you?"),), Sampling(), step="analyse")
    author = simulated_authors.SimulatedAuthor(sample.analysts[0], WORDS, sample)
    assert not author.knows(strange) and author(strange) == ""


# --- seeds and designers -----------------------------------------------------------------------------------------

SEED = drafts.Seed("S1", "medical", "A fever.", "Two causes.", "hard", tuple(f"Claim {n}." for n in range(5)))


def test_the_longest_vignette_becomes_the_draft_with_the_claims_of_its_designer():
    claims = [{"claim_text": f"Own {n}."} for n in range(5)]
    long = json.dumps({"vignette": "One two three.", "claims": claims, "difficulty_assessment": "Hard"})
    short = json.dumps({"vignette": "One.", "difficulty_assessment": "unclear"})
    draft = draft_of(SEED, ["nothing", short, long])
    assert (
        draft is not None and draft.vignette == "One two three." and draft.difficulty == ("moderate", "hard")
    )
    assert draft.claim_texts == tuple(f"Own {n}." for n in range(5))
    known = replace(SEED, known_answer=KnownAnswer("x", "C2"))
    assert draft_of(known, [long]).claim_texts == SEED.claims  # type: ignore[union-attr]
    assert draft_of(SEED, [short]).claim_texts == SEED.claims  # type: ignore[union-attr]
    assert draft_of(SEED, ["", "{}", '{"vignette": 3}']) is None


def test_designers_see_the_seed_and_a_known_answer_only_where_there_is_one():
    known = replace(SEED, seed_id="S2", known_answer=KnownAnswer("malaria", "C2"), why_wrong="season")
    plain, _, told, again = ask_all(designer_tasks([SEED, known], WORDS), lambda *_: "{}")
    assert (
        again[0] == "design_again" and again[1].startswith(told[1]) and "vignette" in again[1][len(told[1]) :]
    )
    assert len(ask_all(designer_tasks([SEED], WORDS), lambda *_: '{"vignette": "A case."}')) == 1
    assert "malaria" not in plain[1] and "malaria" in told[1] and "season" in told[1]
    assert all(text in plain[1] for text in (SEED.scenario, SEED.ambiguity, *SEED.claims))
    assert "{{" not in plain[1] + told[1]


def test_who_verifies_is_asked_again_where_the_reply_holds_no_verdict():
    draft = Draft("D1", "medical", "A case.", tuple("abcde"), ())
    consensus = Consensus(dict.fromkeys(CLAIM_IDS, 0.9), {}, "x")
    said = {"verify": "I would rather not.", "verify_again": '{"verdict": "AGREE"}'}
    asked = ask_all(verification_tasks([(draft, consensus)], WORDS), lambda step, _: said[step])
    assert [step for step, _ in asked] == ["verify", "verify_again"] * 5
    asked = ask_all(verification_tasks([(draft, consensus)], WORDS), lambda *_: said["verify_again"])
    assert [step for step, _ in asked] == ["verify"] * 5


def seed_file(path: Path, **changes: object) -> Path:
    seed = {"seed_id": "S1", "domain": "medical", "scenario": "x", "ambiguity": "y", "intended_difficulty": "easy",
            "claims": list("abcde"), **changes}  # fmt: skip
    path.write_text(json.dumps({"seeds": [seed]}))
    return path


def test_seeds_are_read_with_what_a_known_answer_and_an_error_need(tmp_path):
    path = tmp_path / "seeds.json"
    assert drafts.read_seeds(seed_file(path))[0].claims == tuple("abcde")
    answer = {"known_answer": "z", "target_wrong_claim": "C1", "why_ensemble_gets_wrong": "w"}
    assert drafts.read_seeds(seed_file(path, **answer))[0].why_wrong == "w"
    for wrong in ({"claims": list("abcd")}, {"claims": list("aabcd")}, {"claims": "abcde"}, {"domain": "law"},
                  {"scenario": ""}, {"intended_difficulty": 3}, {"known_answer": "z"}, {"target_wrong_claim": "C1"},
                  {**answer, "target_wrong_claim": "C9"}, {"error_description": "e"}):  # fmt: skip
        with pytest.raises(SourceError) as caught:
            drafts.read_seeds(seed_file(path, **wrong))
        assert "\n" not in str(caught.value) and "seeds.json" in str(caught.value)


# --- files of a user ---------------------------------------------------------------------------------------------


def user_folder(place: Path, **files: object) -> Path:
    items = [{"claim_id": c, "confidence": "high", "reasoning": "r"} for c in CLAIM_IDS]
    instance = {
        "instance_id": "U1", "domain": "medical", "vignette": "v", "key_claims": [{"claim_id": c} for c in CLAIM_IDS],
        "ensemble_outputs": [{"model_id": f"m{n}", "response": {"claim_level_assessments": items}} for n in range(3)],
    }  # fmt: skip
    consensus = {"U1": {"claim_confidences": dict.fromkeys(CLAIM_IDS, 0.6)}}
    contents = {"instances/medical.json": [instance], "consensus/medical.json": consensus, **files}
    for name, content in contents.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    return place


def study_of(folder: Path, place: Path) -> Medley:
    text = '[study]\nname = "s"\nhome = "home"\n[[models]]\nname = "a"\nprovider = "simulated"\n[benchmarks.medley]\n'
    (folder / "study.toml").write_text(f'{text}dataset = "custom"\nfolder = "{place}"\n')
    made: Medley = Medley.of(load_study(folder / "study.toml"))
    made.context.study.prepare()
    return made


def test_a_users_folder_is_built_like_the_published_set(tmp_path):
    folder = user_folder(tmp_path / "mine")
    bench = study_of(tmp_path, folder)
    construction.build(bench)
    assert [each.item_id for each in bench.items] == ["U1"] and bench.items[0].dataset == "custom"
    assert construction.items_current(bench)
    user_folder(folder, **{"known_answers.json": {}})
    assert not construction.items_current(bench)


@every(
    ("name", "content"),
    [
        ("instances/medical.json", "{"),
        ("instances/medical.json", "{}"),
        ("instances/medical.json", "[]"),
        ("instances/medical.json", "[3]"),
        ("instances/medical.json", '[{"instance_id": "U1"}]'),
        ("instances/medical.json", "[" * 100_000),
        ("instances/medical.json", "[NaN]"),
        ("instances/medical.json", '[{"instance_id": "\\ud800"}]'),
        ("consensus/medical.json", "[]"),
        ("consensus/medical.json", '{"U1": 3}'),
        ("consensus/medical.json", '{"U1": {"claim_confidences": [1]}}'),
        ("known_answers.json", '{"U1": {"correct_answer": "x"}}'),
        ("consensus_verified_wrong.json", '{"U1": "C1"}'),
        ("consensus_verified_wrong.json", '{"U1": [1]}'),
        ("consensus_verification.json", '{"U1_C1": {"judges": {}}, "x": 3}'),
        ("consensus_verification.json", '{"U1_C1": {"judges": [1], "instance_id": "a"}}'),
        ("selection_metadata.json", '{"U1": {"selected_models": {}}}'),
        ("selection_metadata.json", '{"U1": {"selected_models": [3]}}'),
    ],
)
def test_hostile_files_give_one_line(name, content, tmp_path):
    folder = user_folder(tmp_path / "mine", **{name: content})
    with pytest.raises(SourceError) as caught:
        construction.build(study_of(tmp_path, folder))
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 1001
    assert not (tmp_path / "home" / "items" / "medley.parquet").exists()


def test_an_id_given_twice_is_refused(tmp_path):
    folder = user_folder(tmp_path)
    given = json.loads((folder / "instances/medical.json").read_text())
    (folder / "instances/medical.json").write_text(json.dumps(given * 2))
    with pytest.raises(SourceError, match="'U1' is given twice"):
        read_set(folder)


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [("cases.toml", 'domain = "medical"', 'domain = "law"'), ("cases.toml", "lean = 0.5", 'lean = "x"'),
     ("cases.toml", "right = true", "right = 1"), ("cases.toml", "[[cases]]", "[[cases"),
     ("analysts.toml", "skill = 0.2", "skill = 2"), ("analysts.toml", 'name = "alder-small"', "name = 3"),
     ("phrases.toml", "undecided", "undecidable")],
)  # fmt: skip
def test_sample_files_with_a_fault_give_one_line(file, old, new, tmp_path):
    for path in simulated_authors.sample_folder().glob("*.toml"):
        text = path.read_text(encoding="utf-8")
        (tmp_path / path.name).write_text(
            text.replace(old, new, 1) if path.name == file else text, encoding="utf-8"
        )
    with pytest.raises(SourceError) as caught:
        simulated_authors.read_sample(tmp_path)
    assert file in str(caught.value) and "\n" not in str(caught.value)
