-- One row: one question set the study asks now, of any benchmark.
-- Key: benchmark, dataset.
-- Source: int_metamedqa_question_sets, int_signaldetection_question_sets, int_medley_question_sets,
-- int_metacogbench_question_sets, int_selfknowledge_question_sets.
-- #UNIQUE(benchmark, dataset)
-- #NOT_NULL(benchmark, dataset)
select 'metamedqa' as benchmark, dataset from int_metamedqa_question_sets
union
select 'signaldetection', dataset from int_signaldetection_question_sets
union
select 'medley', dataset from int_medley_question_sets
union
select 'metacogbench', dataset from int_metacogbench_question_sets
union
select 'selfknowledge', dataset from int_selfknowledge_question_sets
order by benchmark, dataset
