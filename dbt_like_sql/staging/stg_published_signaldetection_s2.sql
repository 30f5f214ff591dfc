-- One row: one model, task and stated risk of table S2, as printed.
-- Key: task, model, condition.
-- Source: published/signaldetection/table_s2.csv.
-- materialized: view
-- #UNIQUE(task, model, condition)
-- #NOT_NULL(task, model, condition)
-- #SET{task: A|B|C}
-- #SET{condition: risk_none|risk_s1|risk_s2}
-- columns:
--   c: criterion; below 0 label 1 is said too often
--   ci_half: printed half width of its 95 % interval
select
    task,
    model,
    'risk_' || lower(risk_configuration) as condition,
    c,
    ci_half
from read_csv(
    'published/signaldetection/table_s2.csv',
    header = true,
    columns = {
        'task': 'varchar', 'model': 'varchar', 'risk_configuration': 'varchar', 'c': 'double', 'ci_half': 'double'
    }
)
