-- One row: the build. Its id goes with all numbers that leave the file.
-- Key: none.
-- Source: the build.
-- columns:
--   id: first 12 digits of the SHA-256 of study, version, SQL and the digests of all input files
--   study: name of the study
--   seed: the study's seed
--   version: of metacog
--   built_at: when
--   complete: whether every partition of the study was complete
--   tables: each table of this file, and each benchmark that is left off it: its name, rows, the digest of its SQL, and why
--     it is empty or left off, null for all others
select
    facts.id,
    study.name as study,
    study.seed,
    facts.version,
    current_timestamp as built_at,
    (select coalesce(bool_and(state = 'complete'), false) from progress) as complete,
    facts.tables
from build_facts as facts
left join stg_study as study on true
