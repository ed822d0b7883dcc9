-- Segments and versions of cursors are written without a statement where their
-- tables are as the script made them, and by a statement, which heeds all that
-- somebody has added, where they are not. The same rows come out either way.
\set QUIET on
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS queen;

SELECT queen.create_queue('i');
CREATE FUNCTION round_trip() RETURNS TABLE (message_offset bigint, payload json, acked bigint)
LANGUAGE plpgsql AS $$
DECLARE
	lease uuid;
BEGIN
	PERFORM FROM queen.push('i', '{"a": 1}', 'p');
	SELECT p.message_offset, p.payload, p.lease INTO message_offset, payload, lease
	  FROM queen.pop('i', partition => 'p') AS p;
	acked := queen.ack(lease);
	RETURN NEXT;
END $$;
-- What the queue has, and nothing of what others left.
CREATE TEMP VIEW segments AS
SELECT s.* FROM queen.segment s JOIN queen.partition p USING (partition_id) JOIN queen.queue q USING (queue_id)
 WHERE q.name = 'i' AND p.name = 'p';
CREATE TEMP VIEW cursors AS
SELECT c.* FROM queen.cursor c JOIN queen.partition p USING (partition_id) JOIN queen.queue q USING (queue_id)
 WHERE q.name = 'i' AND p.name = 'p';
SELECT * FROM round_trip();

SELECT base_offset, message_count, octet_length(frames) AS bytes FROM segments ORDER BY 1;
SELECT version, committed, lease_nonce IS NULL AS free, cardinality(recent) AS recent, failures
  FROM cursors ORDER BY version;

-- Large ones are stored out of line, as ever.
SELECT messages FROM queen.push_batch('i', (SELECT json_agg(md5(n::text)) FROM generate_series(1, 2000) AS n)::text, 'large');
SELECT count(*) FROM queen.pop('i', partition => 'large', batch => 2000)
 WHERE payload #>> '{}' = md5((message_offset + 1)::text);

-- From 1,000 bytes on they are compressed, and stay in the table up to a page of
-- it; what does not get smaller stays as it is.
SELECT pg_relation_size(reltoastrelid) AS outside FROM pg_class WHERE oid = 'queen.segment'::regclass \gset
SELECT FROM unnest('{10,30,100}'::int[]) AS n, queen.push_batch('i', (SELECT json_agg('{"answer": 42}'::json) FROM generate_series(1, n))::text, n::text)
\; SELECT FROM queen.push('i', to_json((SELECT string_agg(md5(n::text), '') FROM generate_series(1, 100) AS n)), 'noise') \g /dev/null
SELECT p.name, octet_length(frames) AS bytes, pg_column_size(frames) < octet_length(frames) AS smaller, pg_column_compression(frames) IS NOT NULL AS compressed
  FROM queen.segment JOIN queen.partition AS p USING (partition_id) JOIN queen.queue AS q USING (queue_id)
 WHERE q.name = 'i' AND p.name IN ('10', '30', '100', 'noise') ORDER BY 2;
SELECT pg_relation_size(reltoastrelid) - :outside AS more_outside FROM pg_class WHERE oid = 'queen.segment'::regclass;
SELECT count(*), min(payload::text), max(payload::text) FROM queen.pop('i', partition => '100', batch => 1000);

-- A savepoint that is rolled back takes the row along.
BEGIN;
SAVEPOINT s;
SELECT message_offset FROM queen.push('i', '1', 'p');
ROLLBACK TO s;
SELECT message_offset FROM queen.push('i', '2', 'p');
SELECT base_offset FROM segments ORDER BY 1;
ROLLBACK;

-- What runs later in the transaction sees the row, what began before does not.
BEGIN;
SELECT message_offset, (SELECT count(*) FROM segments) AS before FROM queen.push('i', '1', 'p');
SELECT count(*) FROM segments;
ROLLBACK;

-- Nobody needs a right on the tables.
CREATE ROLE regress_insert;
GRANT USAGE ON SCHEMA queen TO regress_insert;
SELECT queen.grant('i', 'regress_insert', '{push}');
SET ROLE regress_insert;
SELECT message_offset FROM queen.push('i', '1', 'p');
RESET ROLE;

-- A trigger fires,
BEGIN;
CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE WARNING '% of %: %', tg_op, tg_table_name, coalesce(to_jsonb(new)->'base_offset', to_jsonb(new)->'version');
	RETURN new;
END $$;
CREATE TRIGGER tell BEFORE INSERT ON queen.segment FOR EACH ROW EXECUTE FUNCTION tell();
CREATE TRIGGER tell AFTER INSERT ON queen.cursor FOR EACH ROW EXECUTE FUNCTION tell();
SELECT * FROM round_trip();
ROLLBACK;

-- an index gets its entry,
BEGIN;
CREATE UNIQUE INDEX ON queen.segment (message_count) WHERE message_count = 77;
SELECT messages FROM queen.push_batch('i', (SELECT json_agg(n) FROM generate_series(1, 77) AS n), 'p');
SELECT messages FROM queen.push_batch('i', (SELECT json_agg(n) FROM generate_series(1, 77) AS n), 'p');
ROLLBACK;

-- a column its default,
BEGIN;
ALTER TABLE queen.segment ADD COLUMN more int DEFAULT 7;
SELECT * FROM round_trip();
ALTER TABLE queen.segment ALTER COLUMN more SET DEFAULT 8;
SELECT * FROM round_trip();
SELECT base_offset, (SELECT more FROM queen.segment s WHERE (s.partition_id, s.base_offset) = (o.partition_id, o.base_offset))
  FROM segments o ORDER BY 1;
ROLLBACK;

-- and a check has its say.
BEGIN;
ALTER TABLE queen.cursor ADD CONSTRAINT no_version CHECK (version < 0) NOT VALID;
\set VERBOSITY sqlstate
SELECT * FROM round_trip();
\set VERBOSITY default
ROLLBACK;
SELECT * FROM round_trip();

-- Indexes and tables that are made anew are found, at once.
REINDEX TABLE CONCURRENTLY queen.segment;
SELECT * FROM round_trip();
VACUUM FULL queen.cursor;
SELECT * FROM round_trip();
BEGIN;
ALTER INDEX queen.segment_pkey RENAME TO other;
CREATE UNIQUE INDEX segment_pkey ON queen.segment (partition_id, base_offset);
SELECT * FROM round_trip();
ROLLBACK;
BEGIN;
ALTER TABLE queen.segment RENAME TO other;
SAVEPOINT s;
SELECT * FROM round_trip();
ROLLBACK TO s;
ALTER TABLE queen.other RENAME TO segment;
SELECT * FROM round_trip();
COMMIT;
SELECT * FROM round_trip();

DROP VIEW segments, cursors;
DROP FUNCTION round_trip;
SELECT queen.drop_queue('i', "cascade" => true);
REVOKE USAGE ON SCHEMA queen FROM regress_insert;
DROP ROLE regress_insert;
