"""Training arithmetic against golden files: rewards, updates, seeded noise, patching."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from metacog_pipeline.benchmarks.selfknowledge.training import es, patching, rewards, weights  # noqa: E402
from tests.golden.agreed import cases  # noqa: E402


def unfold(values):
    """Read a list that may be run-length coded."""
    if isinstance(values, dict) and "runs" in values:
        return [value for value, count in values["runs"] for _ in range(count)]
    return values


def test_rewards_per_item_and_their_means():
    for case in cases("esma/rewards.jsonl"):
        correct, yes = unfold(case["correct"]), unfold(case["yes"])
        for name, table in rewards.TABLES.items():
            expected = unfold(case["expected"][name])
            found = [table(rewards.outcome([c], [y])) for c, y in zip(correct, yes, strict=True)]
            assert found == pytest.approx(expected, abs=1e-12), case["id"]
            mean = case["expected"]["mean"][name]
            if mean is None:
                with pytest.raises(ValueError, match="no reward"):
                    table(rewards.outcome(correct, yes))
            else:
                assert table(rewards.outcome(correct, yes)) == pytest.approx(mean, abs=1e-12), case["id"]


def test_update_is_the_closed_form():
    for case in cases("esma/es_update.jsonl"):
        z, theta = es.es_update(case["theta"], case["noise"], case["fitness"], case["alpha"])
        assert z.tolist() == pytest.approx(case["expected"]["z"], rel=1e-12, abs=1e-12), case["id"]
        assert theta.tolist() == pytest.approx(case["expected"]["theta_next"], rel=1e-12, abs=1e-15), case[
            "id"
        ]


def test_a_seed_means_the_numbers_of_the_published_code():
    for case in cases("esma/seeded_noise.jsonl"):
        if "run_seed" in case:
            continue  # which seeds the authors draw depends on the number of processes; ours do not
        zeros = {str(place): torch.zeros(tuple(shape)) for place, shape in enumerate(case["shapes"])}
        weights.Weights(zeros).perturb(es.Individual(case["seed"]), 1.0)
        for tensor, expected in zip(zeros.values(), case["expected"], strict=True):
            np.testing.assert_allclose(tensor.reshape(-1).numpy(), unfold(expected), atol=1e-6)


def tensors(named):
    return {name: torch.tensor(rows, dtype=torch.float32) for name, rows in named.items()}


def flat(kept):
    return {name: tensor.reshape(-1).tolist() for name, tensor in kept.items()}


def wanted(expected):
    return {name: np.array(unfold(values), dtype=np.float32).tolist() for name, values in expected.items()}


def test_patching_by_both_rules():
    for case in cases("esma/patching.jsonl"):
        delta, expected = tensors(case["delta"]), case["expected"]
        threshold, kept = patching.reference_kept(delta, case["ratio"], case["from_bottom"])
        if expected["reference_threshold"] is not None:
            assert threshold == pytest.approx(np.float32(expected["reference_threshold"]), abs=0), case["id"]
        assert flat(kept) == wanted(expected["reference_kept"]), case["id"]
        side = "bottom" if case["from_bottom"] else "top"
        count, kept = patching.kept(delta, case["ratio"], side)
        assert count == expected["exact_count"], case["id"]
        assert flat(kept) == wanted(expected["exact_kept"]), case["id"]
