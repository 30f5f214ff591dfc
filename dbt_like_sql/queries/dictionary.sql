-- What every table and column means: those of the schema main first, which most people need.
select columns.schema_name as schema, table_name as "table", column_name as "column", lower(data_type) as type,
    columns.comment as meaning, tables.comment as "one row of the table"
from duckdb_columns() as columns
inner join duckdb_tables() as tables using (database_name, schema_name, table_name)
where database_name = 'leaderboard'
order by columns.schema_name desc, table_name, column_index
