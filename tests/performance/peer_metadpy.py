"""Fit meta-d' with metadpy and print what it took as one line of JSON; run by the peer's own interpreter.

``peer_metadpy.py COUNTS LIMIT_S``: COUNTS is a JSON file with ``n_s1`` and ``n_s2`` (cells × 2 K) and ``pad``. The first
fit compiles and is not counted. Fits stop after LIMIT_S seconds of processor time; ``cells`` says which came to an end.
"""

import json
import sys
import time
import warnings
from importlib.metadata import version
from pathlib import Path


def main() -> None:
    """Fit cells one after the other."""
    warnings.simplefilter("ignore")
    from metadpy.mle import fit_metad

    data, limit = json.loads(Path(sys.argv[1]).read_text()), float(sys.argv[2])
    pairs = list(zip(data["n_s1"], data["n_s2"], strict=True))
    ratings = len(pairs[0][0]) // 2

    def fit(pair):
        one, two = ([count + data["pad"] for count in side] for side in pair)
        return fit_metad(nR_S1=one, nR_S2=two, nRatings=ratings, nCriteria=2 * ratings - 1, verbose=0)

    fit(pairs[0])
    found, cells, cpu = [], [], 0.0
    for cell, pair in enumerate(pairs):
        before = time.process_time()
        try:
            result = fit(pair)
        except (ValueError, ZeroDivisionError):
            continue
        cpu += time.process_time() - before
        found.append(float(result["meta_d"] if isinstance(result, dict) else result["meta_d"].iloc[0]))
        cells.append(cell)
        if cpu > limit:
            break
    said = {"fits": len(found), "cells": cells, "cpu_s": cpu, "meta_d": found}
    print(json.dumps({**said, "version": version("metadpy")}))


if __name__ == "__main__":
    main()
