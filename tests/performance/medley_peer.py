"""Score triples with medley-bench and print what it took as one line of JSON; run by the peer's own interpreter.

``medley_peer.py FILE WARM_UP``: FILE holds an object of four arrays, instances, consensus, wrong and triples, with one
entry per scoring. Timed are all computed measures, three tiers, six dimensions and the total, as processor time after
WARM_UP scorings; reading the file is not.
"""

import json
import sys
import time
import warnings
from pathlib import Path

from src.tracks.metacognition.scoring.aggregation import (
    compute_all_dimension_scores,
    compute_tier_scores,
    compute_total_score,
)
from src.tracks.metacognition.scoring.measures import compute_all_computed_measures


def main() -> None:
    """Score every triple once."""
    warnings.simplefilter("ignore")
    given = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    warm_up = int(sys.argv[2])
    work = []
    for instance, consensus, wrong, triple in zip(
        given["instances"], given["consensus"], given["wrong"], given["triples"], strict=True
    ):
        shown = {**instance, "_verified_wrong_claims": set(wrong)}
        work.append((triple, shown, consensus))
    for one in work[:warm_up]:
        total(*one)
    start = time.process_time()
    totals = [total(*one) for one in work]
    spent = time.process_time() - start
    print(json.dumps({"cpu_s": spent, "totals": totals}))


def total(triple: list, instance: dict, consensus: dict) -> float:
    """Return the total score of one triple."""
    found = compute_all_computed_measures(
        *triple, instance, consensus, analyst_outputs=instance["ensemble_outputs"]
    )
    found.pop("difficulty_prediction_raw", None)
    tiers = compute_tier_scores(found, {})
    compute_all_dimension_scores(found, {})
    return float(compute_total_score(tiers))


if __name__ == "__main__":
    main()
