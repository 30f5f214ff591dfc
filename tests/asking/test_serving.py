"""Who serves a study answers what it knows and refuses the rest: a question of other items is no question of these."""

import pytest

from metacog_pipeline.asking import construction, doctor, serving
from metacog_pipeline.benchmark.bound import enabled
from metacog_pipeline.llm.serve import UnknownQuestion
from metacog_pipeline.llm.types import ChatRequest, Message, Sampling
from metacog_pipeline.study import load_study

STUDY = """
[study]
name = "s"
home = "home"
[[models]]
name = "alpha"
provider = "simulated"
[benchmarks.metamedqa]
dataset = "sample"
limit = 2
"""


def test_a_question_nobody_knows_is_answered_with_404(tmp_path):
    (tmp_path / "study.toml").write_text(STUDY)
    study = load_study(tmp_path / "study.toml")
    study.prepare()
    for benchmark in enabled(study):
        construction.build(benchmark)
    respond = serving.respondents(study)["alpha"]
    unknown = ChatRequest((Message("user", "A case of another study. What do you think?"),), Sampling())
    with pytest.raises(UnknownQuestion, match="nobody of this study knows the question"):
        respond(unknown)
    assert respond(ChatRequest(doctor.QUESTION, Sampling())) == serving.PROBED
