"""A study of one benchmark that was asked and scored."""

import pytest

from metacog_pipeline import registry
from metacog_pipeline.scoring import files
from tests.studies import asked


@pytest.fixture(scope="package")
def bench(tmp_path_factory):
    found = asked(registry.load("metamedqa"), tmp_path_factory.mktemp("one"))
    for each in files.tasks.partitions(found):
        files.read(found, each)
        files.score(found, each)
    return found
