"""Replies, grades, instance scores and statistics of MEDLEY-BENCH against those of the authors' package."""

import json
from dataclasses import replace

import numpy as np
import pytest

from metacog_pipeline.benchmarks.medley.construction.sets import read_set
from metacog_pipeline.benchmarks.medley.items import (
    REFERENCE_MAP,
    LabelMap,
    anonymised,
    claim_confidence,
    instance_from_published,
    num,
)
from metacog_pipeline.benchmarks.medley.judging import parse_judgement
from metacog_pipeline.benchmarks.medley.read import is_error, parse_reply
from metacog_pipeline.benchmarks.medley.rules import MEASURES, REFERENCE, Triple
from metacog_pipeline.benchmarks.medley.scores import (
    ABILITIES,
    DIMENSIONS,
    TIERS,
    WEIGHTS,
    abilities,
    judged_measures,
    outcome,
    part,
    rounded,
    score_triples,
)
from metacog_pipeline.stats.agreement_many import fleiss_kappa
from metacog_pipeline.stats.calibration import ece
from metacog_pipeline.stats.ranks import spearman_rows
from metacog_pipeline.stats.robust import location
from tests.golden.agreed import PUBLISHED, cases, need
from tests.medley.bound import measured

CLOSE = 1e-9
# The paper's five values under the package's value for what is not recognised.
MAPS = {"reference": REFERENCE_MAP, "paper": LabelMap("paper values", 0.9, 0.7, 0.5, 0.3, 0.1, 0.55)}


def optional(name):
    path = PUBLISHED / name
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


@pytest.fixture(scope="module")
def published():
    """Instances of the published set by id, where its files are there."""
    return {each.item_id: each for each in read_set(PUBLISHED).instances} if PUBLISHED.is_dir() else {}


def instance_of(row, published):
    name, options = row["instance_id"], row["options"]
    instance = published.get(name)
    if row["inline_instance"] is not None:
        instance = instance_from_published(
            row["inline_instance"],
            row["inline_consensus"],
            verified_wrong=row["inline_verified_wrong"] or (),
            known_answer=optional("known_answers.json").get(name),
        )
    if instance is None:
        return None
    if not options["verified_wrong"]:
        instance = instance.changed(verified_wrong=frozenset())
    return anonymised(instance) if options["anonymised"] else instance


@pytest.fixture(scope="module")
def scored(published):
    """Every row of scoring.jsonl with its instance and its scores."""
    found = []
    for row in cases("medley/scoring.jsonl"):
        instance = instance_of(row, published)
        if instance is None:
            continue
        options = replace(REFERENCE, labels=MAPS[row["options"]["confidence_map"]])
        adversarial = row["options"]["adversarial"]
        scores = score_triples([instance], [triple(row)], [row["judged"]], options, adversarial=adversarial)
        found.append((row, instance, scores))
    if not found:
        pytest.skip(f"{PUBLISHED} lacks the instances that scoring.jsonl names")
    return found


def triple(row):
    return Triple(row["step_a"], row["step_b_private"], row["step_b_social"], row["step_b_minimal"])


def fragile_measures(row):
    return {name.removeprefix("computed.") for name in row["fragile"] if name.startswith("computed.")}


def near(row, what, got, expected, tolerance=CLOSE):
    assert abs(got - expected) <= tolerance, f"{row['case']} {row['tags']}: {what} is {got}, not {expected}"


def rounding(row):
    """Return the tolerance of values rounded to four decimals."""
    return 1e-4 + CLOSE if "rounded_values" in row["fragile"] else CLOSE


def test_labels_and_claim_confidences():
    for row in cases("medley/labels.jsonl"):
        value = row["input"]
        reply = {"claim_level_assessments": [{"claim_id": "C1", "confidence": value}]}
        near({**row, "tags": value}, "label", num(value), row["label_to_number"])
        near({**row, "tags": value}, "claim", claim_confidence(reply, "C1"), row["as_claim_confidence"])


def test_replies_are_parsed_alike_and_what_is_no_object_is_an_error():
    for row in cases("medley/parsing.jsonl"):
        found = parse_reply(row["raw"])
        if row["error"] is None and isinstance(row["parsed"], dict):
            assert found == row["parsed"], row["case"]
        else:
            assert is_error(found) and found["_raw"] == row["raw"], row["case"]


def test_judge_replies():
    for row in cases("medley/judge_replies.jsonl"):
        found = parse_judgement(row["raw"], reference=True)
        assert found.criteria == row["criteria"], row["case"]
        assert found.non_default == row["non_default"], row["case"]
        assert found.dimensions.keys() == row["dimensions"].keys()
        for name, value in row["dimensions"].items():
            near({**row, "tags": ""}, name, found.dimensions[name], value)


def test_computed_measures(scored):
    for row, _, scores in scored:
        found, expected = measured(scores), row["expected"]["computed"]
        assert found.keys() == expected.keys(), row["case"]
        for name, value in expected.items():
            if name not in fragile_measures(row):
                near(row, name, found[name], value)


def test_tiers_their_parts_and_the_total(scored):
    for row, _, scores in scored:
        expected, fragile = row["expected"], fragile_measures(row)
        measures = {**{name: scores[name] for name in MEASURES}, **judged_measures([row["judged"]], 1)}
        for tier, parts in zip(TIERS, WEIGHTS, strict=True):
            wanted = expected["tiers"][tier]
            values = {name: rounded(part(measures, name))[0] for name in parts}
            shown = {name: value for name, value in values.items() if not np.isnan(value)}
            assert shown.keys() == wanted["sub_measures"].keys(), (row["case"], tier)
            for name, value in wanted["sub_measures"].items():
                if name not in fragile:
                    near(row, f"{tier}.{name}", shown[name], value, rounding(row))
            if not fragile & shown.keys():
                near(row, tier, scores[tier][0], wanted["score"], rounding(row))
        if not fragile & {name for tier in WEIGHTS for name in tier}:
            near(row, "total", scores["mms"][0], expected["total"], rounding(row))


def test_secondary_dimensions(scored):
    for row, _, scores in scored:
        for name, parts in DIMENSIONS.items():
            if not fragile_measures(row) & parts.keys():
                expected = row["expected"]["dimension_scores"][name]
                near(row, name, scores[f"dimension_{name}"][0], expected, rounding(row))


def test_abilities_and_profiles(scored):
    for row, _, scores in scored:
        expected = row["expected"]
        found = abilities(judged_measures([row["judged"]], 1))
        near(row, "mas", found["mas"][0], expected["mas"])
        for name in ABILITIES:
            near(row, name, found[name][0], expected["abilities"][name])
            near(row, f"ipsative {name}", found[f"ipsative_{name}"][0], expected["ipsative"][name])
        if found["n_judged"][0]:
            assert scores["mas"] == found["mas"]


def test_known_answers(scored):
    need(PUBLISHED / "known_answers.json")
    for row, instance, scores in scored:
        options = replace(REFERENCE, labels=MAPS[row["options"]["confidence_map"]])
        found, expected = outcome(instance, triple(row), options), row["expected"]["known_answer"]
        assert scores["known_answer"][0] == (found and found[0]), row["case"]
        assert (found is None) == (expected is None), row["case"]
        if found is None:
            continue
        direction, first, final = found
        shown = {
            "step_a_resists_wrong_consensus": direction in ("maintained_correct", "capitulated"),
            "step_b_resists_wrong_consensus": direction in ("maintained_correct", "corrected"),
            "direction": direction,
            "is_sycophantic_capitulation": direction == "capitulated",
            "is_courageous_resistance": direction == "maintained_correct",
            "is_error_detection": instance.is_error_detection,
            "step_a_confidence": first,
            "step_b_confidence": final,
        }
        assert shown == expected, row["case"]


def of_kind(kind):
    found = [{**row, "tags": ""} for row in cases("medley/statistics.jsonl") if row["kind"] == kind]
    if not found:
        pytest.skip(f"statistics.jsonl has no {kind}")
    return found


def test_locations_of_instance_scores():
    names = {"trimmed_mean_10": "trimmed_mean", **{name: name for name in ("mean", "median", "double_step")}}
    for row in of_kind("instance_score_vector"):
        for key, statistic in names.items():
            near(row, key, location([row["scores"]], statistic)[0], row[key])


def test_fleiss_kappa():
    for row in of_kind("fleiss_kappa"):
        near(row, "kappa", fleiss_kappa(row["matrix"]).value, row["kappa"])


def test_guarded_spearman():
    for row in of_kind("spearman"):
        if len(row["x"]) != len(row["y"]):
            assert row["rho"] == 0.0
            with pytest.raises(ValueError, match="shape"):
                spearman_rows([row["x"]], [row["y"]])
            continue
        found = spearman_rows([row["x"]], [row["y"]])
        near(row, "rho", found.rho[0], row["rho"])
        near(row, "p", found.p[0], row["p"])


def test_calibration():
    for row in (each for each in of_kind("calibration") if each["p"]):
        for bins in (5, 10):
            near(row, "ece", ece(row["p"], row["outcome"], bins).value, row[f"ece_{bins}"])
