"""A set of cases made by simulated people passes every gate of its release; a smaller one says which gate stops it."""

import pytest

from metacog_pipeline.asking import construction
from metacog_pipeline.benchmarks.medley import Medley
from metacog_pipeline.benchmarks.medley import benchmark as declared
from metacog_pipeline.benchmarks.medley.construction import gates
from metacog_pipeline.benchmarks.medley.construction.published import read_set
from metacog_pipeline.benchmarks.medley.construction.roles import Roles, roles_of
from metacog_pipeline.benchmarks.medley.construction.sharing import write_made
from metacog_pipeline.benchmarks.medley.items import DOMAINS
from metacog_pipeline.study import load_study
from metacog_pipeline.study.frames import read_frame
from tests.medley.generator_study import write_generator

PER_DOMAIN, KNOWN = 17, 4  # of each domain; the last known answer is an injected error
FAMILIES = ("openai", "openai", "anthropic", "anthropic", "google", "google", "mistral", "deepseek")
KINDS = ("filter", "valve", "sensor", "gasket", "load")


def seeds(per_domain):
    made = []
    for domain in DOMAINS:
        for place in range(per_domain):
            row = {
                "seed_id": f"{domain[:4].upper()}_{place}",
                "domain": domain,
                "scenario": f"Plant {place} of {domain} stopped twice in one night, after a part was changed.",
                "ambiguity": "Wear and a blocked part would both show as a slow fall of pressure.",
                "intended_difficulty": "hard",
                "claims": [f"In plant {place} of {domain} it is the {kind}." for kind in KINDS],
            }
            if place < KNOWN:
                row |= {"known_answer": "it is the filter", "target_wrong_claim": "C2"}
                told = "error_description" if place == KNOWN - 1 else "why_ensemble_gets_wrong"
                row[told] = "The valve is what one thinks of first."
            made.append(row)
    return made


def in_process(settings, context):
    """Return the people the study names, simulated here instead of being served."""
    found = roles_of(settings, context)
    people = {
        role: tuple(spec.model_copy(update={"provider": "simulated", "base_url": None}) for spec in group)
        for role, group in found.people.items()
    }
    return Roles(found.dataset, found.seeds, found.seeds_digest, people, {})


def write(folder, per_domain):
    authors = {f"author-{n}": family for n, family in enumerate(FAMILIES, start=1)}
    judges = {f"judge-{n}": f"maker-{n}" for n in range(1, 4)}
    people = {"designers": ["author-1"], "analysts": list(authors)}
    return write_generator(folder, seeds(per_domain), authors, judges, row="", **people)


def verdict_on_made(path):
    """Take every step that makes the set of a study, and return what the gates say of it."""
    bench = Medley.of(load_study(path))
    bench.context.study.prepare()
    for name in construction.stale_steps(bench):
        construction.run_step(bench, construction.step_of(bench, name))
    return gates.verdict(gates.gates_of(read_frame(construction.result_path(bench, "gates"))))


@pytest.fixture(scope="module")
def simulated():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(declared, "roles_of", in_process)
        yield


@pytest.fixture(scope="module")
def whole(simulated, tmp_path_factory):
    """Return a study whose set has been made, and what was said at the end."""
    study = write(tmp_path_factory.mktemp("whole"), PER_DOMAIN)
    return study, verdict_on_made(study)


def test_a_set_of_simulated_people_passes_every_gate_once_its_answers_are_judged(whole):
    study, said = whole
    found = gates.gates_of(read_frame(construction.result_path(Medley.of(load_study(study)), "gates")))
    assert [gate.name for gate in found if gate.stops] == ["G15"], [
        gate.render() for gate in found if gate.stops
    ]
    assert "G15" in said and "run with judges" in said
    assert {gate.name: gate.status for gate in found if gate.name in ("G12", "X8")} == {
        "G12": "passed",
        "X8": "passed",
    }
    judged = gates.with_judges(found, 0.7, 0.7, "")
    assert gates.verdict(judged) == "fit to be released"


def test_what_is_released_reads_back_as_it_was_made(whole):
    study, _ = whole
    folder = study.parent / "set"
    write_made(Medley.of(load_study(study)), folder)
    again = read_set(folder, "custom")
    made = Medley.of(load_study(study)).items
    assert [each.vignette for each in again.instances] == [each.vignette for each in made]
    failed = {
        gate.name for gate in gates.evaluate(again.instances, again.evidence) if gate.status == "failed"
    }
    # The published layout holds neither prompts (G13) nor families (X4); simulated verifiers err on their own (X7).
    assert failed <= {"G13", "X4", "X7"}


def test_a_set_that_is_too_small_names_its_gates_and_what_to_do(simulated, tmp_path):
    said = verdict_on_made(write(tmp_path, 1)).splitlines()
    stops = [line.strip() for line in said[said.index("not fit to be released") + 1 :]]
    assert {line.partition(":")[0] for line in stops} >= {"G1", "G2", "G10"}
    assert all("add seeds" in line for line in stops if line.startswith(("G1:", "G2:", "G10:")))
