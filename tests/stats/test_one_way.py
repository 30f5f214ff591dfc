"""One way for each thing: nobody adds a second source of random numbers, a second name of streams, a second limit."""

import re
from pathlib import Path

import metacog_pipeline
from tests.tables import every

ROOT = Path(metacog_pipeline.__file__).parent
#: What computes numbers. Building items, simulated respondents and training draw for themselves.
COMPUTES = ("stats", "scoring", "benchmark", "benchmarks")
ELSEWHERE = ("construction", "training", "simulated", "audit", "untidy", "sources")


def sources():
    for folder in COMPUTES:
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if folder != "benchmarks" or not any(word in name for word in ELSEWHERE):
                yield name, path.read_text(encoding="utf-8")


def found(pattern, *allowed):
    """Return the files, other than ``allowed``, that hold the pattern outside of examples."""
    lines = ((name, line) for name, text in sources() for line in text.splitlines() if ">>>" not in line)
    return sorted({name for name, line in lines if re.search(pattern, line) and name not in allowed})


@every("made", [r"default_rng\(", r"PCG64\(", r"SeedSequence\(", r"RandomState\(", r"np\.random\.seed"])
def test_no_generator_of_random_numbers_is_made_outside_the_kernel(made):
    assert found(made, "stats/resampling/kernels.py") == []


def test_a_stream_is_named_by_one_function():
    assert (
        found(
            r"def (stream|random_stream|sequence)\(",
            "stats/resampling/kernels.py",
            "benchmark/contract.py",
            "stats/bayes/sampler.py",
        )
        == []
    )
    assert found(r"sha256.*\[:12\]", "stats/resampling/kernels.py") == []


def test_a_benchmark_names_its_streams_by_itself_and_the_seed_of_the_study():
    first = r"resampling\.(stream|sequence)\((?!self\.name|\"[a-z]+\"|\*|$)"
    assert found(first, "stats/resampling/kernels.py") == []


def test_one_constant_says_how_many_resamples_need_a_value():
    assert found(r"^[A-Z_]*USABLE[A-Z_]* =", "stats/resampling/percentiles.py") == []


def test_one_module_says_how_few_errors_are_too_few():
    assert found(r"^LEAST_ERRORS =|^FEW_ERRORS.*=", "stats/identifiability.py") == []


def test_p_of_resamples_is_made_by_one_function():
    assert (
        found(
            r"\+ 1\) / \(.*(len|draws|B|n_boot).*\+ 1\)", "stats/resampling/percentiles.py", "stats/exact.py"
        )
        == []
    )


def test_an_area_under_the_curve_is_made_of_counts_by_one_function():
    assert found(r"cumsum\(wrong.*- wrong$", "stats/auroc.py") == []
    assert found(r"def [a-z_]*(area_of|auroc_statistic|delong)\(", "stats/auroc.py") == []


def test_means_over_columns_are_added_in_one_order():
    """Polars adds columns in the order in which its threads come; of what is true or false every order gives the same."""
    assert found(r"(mean|sum)_horizontal\(", "benchmarks/medley/instance_scores.py") == []


def test_a_brier_score_is_made_by_one_function():
    assert (
        found(r"def [a-z_]*brier", "stats/calibration.py", "benchmarks/medley/rule_based/measures.py") == []
    )


def test_calibration_errors_are_those_of_one_room():
    """MEDLEY's are formulas of its paper, over answers before and after; the others only call the room."""
    room = ("stats/calibration.py", "stats/calibration_line.py", "stats/intervals.py")
    callers = (
        "stats/confidence_fit.py",
        "benchmarks/metacogbench/groups.py",
        "benchmarks/metacogbench/measures.py",
        "benchmarks/medley/rule_based/measures.py",
    )
    assert found(r"def [a-z_]*ece(_|\()", *room, *callers) == []
    assert found(r"abs\(np\.bincount", *room) == []
