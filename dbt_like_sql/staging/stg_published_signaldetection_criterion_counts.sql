-- One row: how one published model decided in one task under one stated risk.
-- Key: task, model, condition.
-- Source: published/signaldetection/criterion_counts.csv.
-- materialized: view
-- #UNIQUE(task, model, condition)
-- #NOT_NULL(task, model, condition, total)
-- #SET{task: A|B|C}
-- #SET{condition: risk_none|risk_s1|risk_s2}
-- columns:
--   condition: risk_none states no risk, risk_s1 punishes wrongly saying 0, risk_s2 wrongly saying 1
--   hits: label 1 answered 1
--   false_alarms: label 0 answered 1
select
    task,
    model,
    'risk_' || lower(risk_configuration) as condition,
    hits,
    misses,
    false_alarms,
    correct_rejections,
    total
from read_csv(
    'published/signaldetection/criterion_counts.csv',
    header = true,
    columns = {
        'task': 'varchar', 'model': 'varchar', 'risk_configuration': 'varchar', 'hits': 'bigint', 'misses': 'bigint',
        'false_alarms': 'bigint', 'correct_rejections': 'bigint', 'total': 'bigint'
    }
)
