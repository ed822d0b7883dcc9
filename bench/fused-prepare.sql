-- New, empty tables, and :partitions partitions.
SET client_min_messages = warning;
SET synchronous_commit = off;
DROP EXTENSION IF EXISTS queen CASCADE;
DROP TABLE IF EXISTS plain;
CREATE EXTENSION queen;
SELECT queen.create_queue('bench');
SELECT count(queen.push('bench', '1', p::text)) FROM generate_series(1, :partitions) p;
CREATE TABLE plain (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload json NOT NULL);
VACUUM ANALYZE;
CHECKPOINT;
