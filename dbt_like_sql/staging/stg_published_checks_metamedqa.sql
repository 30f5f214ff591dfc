-- One row: one statement of the MetaMedQA paper that can be computed again.
-- Key: claim.
-- Source: published/metamedqa/claims.csv.
-- materialized: view
-- #UNIQUE(claim)
-- #NOT_NULL(claim, stated, recomputed, verdict)
-- #SET{verdict: holds|holds if cut off|borderline|does not hold}
select
    claim,
    topic,
    subject,
    stated,
    recomputed,
    verdict,
    explanation
from read_csv(
    'published/metamedqa/claims.csv',
    header = true,
    columns = {
        'claim': 'varchar', 'topic': 'varchar', 'subject': 'varchar', 'stated': 'varchar', 'recomputed': 'varchar',
        'verdict': 'varchar', 'explanation': 'varchar'
    }
)
