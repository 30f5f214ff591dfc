"""One's own questions in the report: which way to elicit confidence knows best."""

from metacog_pipeline.benchmark.contract import Section
from metacog_pipeline.benchmarks.questions.items import NAME
from metacog_pipeline.benchmarks.questions.measures import ELICITATIONS
from metacog_pipeline.report.conditions import knowing_best

SECTIONS = (Section("Which elicitation knows best", knowing_best(NAME, ELICITATIONS)),)
