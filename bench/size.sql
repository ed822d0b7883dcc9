-- 1,000 batches of 100 messages, made by :kind, each batch a transaction, to one
-- partition and to the plain table; answers bytes for a message.
SET client_min_messages = warning;
SET synchronous_commit = off;
SELECT setseed(0.5) \g /dev/null

DROP EXTENSION IF EXISTS queen CASCADE;
DROP TABLE IF EXISTS plain, batches;
CREATE EXTENSION queen;
SELECT queen.create_queue('bench') \g /dev/null
CREATE TABLE plain (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload json NOT NULL);
CREATE TABLE batches AS SELECT n, :kind(100) AS body FROM generate_series(1, 1000) AS n;
CHECKPOINT;

SELECT pg_current_wal_insert_lsn() AS start \gset
DO $$
DECLARE
	batch json;
BEGIN
	FOR batch IN SELECT body FROM batches ORDER BY n LOOP
		PERFORM queen.push_batch('bench', batch, '1');
		COMMIT;
	END LOOP;
END $$;
SELECT pg_current_wal_insert_lsn() AS middle \gset
DO $$
DECLARE
	batch json;
BEGIN
	FOR batch IN SELECT body FROM batches ORDER BY n LOOP
		INSERT INTO plain (payload) SELECT value FROM json_array_elements(batch);
		COMMIT;
	END LOOP;
END $$;
SELECT pg_current_wal_insert_lsn() AS finish \gset
VACUUM;

SELECT sum(messages) = 100000 AND (SELECT count(*) FROM plain) = 100000 AS good
  FROM queen.partitions \gset
\if :good
	SELECT 'on disk of', pg_total_relation_size('queen.segment') / 100000.0, pg_total_relation_size('plain') / 100000.0;
	SELECT 'of WAL for', pg_wal_lsn_diff(:'middle', :'start') / 100000, pg_wal_lsn_diff(:'finish', :'middle') / 100000;
\else
	\warn 'wrong number of messages'
	SELECT 1 / 0;
\endif
