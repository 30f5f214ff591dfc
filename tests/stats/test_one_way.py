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
    assert found(made, "stats/resampling/__init__.py") == []


def test_a_benchmark_names_its_streams_by_itself_and_the_seed_of_the_study():
    first = r"resampling\.(stream|sequence)\((?!self\.name|\"[a-z]+\"|\*|$)"
    assert found(first, "stats/resampling/__init__.py") == []


def test_p_of_resamples_is_made_by_one_function():
    assert (
        found(r"\+ 1\) / \(.*(len|draws|B|n_boot).*\+ 1\)", "stats/resampling/__init__.py", "stats/exact.py")
        == []
    )


def test_means_over_columns_are_added_in_one_order():
    """Polars adds columns in the order in which its threads come; of what is true or false every order gives the same."""
    assert found(r"(mean|sum)_horizontal\(", "benchmarks/medley/scores.py") == []
