"""What stands over all benchmarks of a study."""

from types import SimpleNamespace

from metacog_pipeline.home import Home
from metacog_pipeline.scoring import cross_benchmark


def test_a_study_without_answers_has_empty_tables(tmp_path):
    study = SimpleNamespace(
        home=Home(tmp_path),
        models=[SimpleNamespace(name="one")],
        study=SimpleNamespace(seed=1),
        enabled=(),
    )
    assert cross_benchmark.publish(study) == 0
