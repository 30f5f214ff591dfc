-- One row: a file the tables are made from.
-- Key: file.
-- Source: the build.
-- columns:
--   file: path below the study's home
--   digest: SHA-256 of its content
select file, digest from build_inputs
