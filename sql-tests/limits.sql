-- limits: how many locks of partitions one transaction may take from everybody's lock table.
\set QUIET on
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS queen;
RESET client_min_messages;
CREATE FUNCTION pg_temp.items(first int, last int) RETURNS text LANGUAGE sql AS $$
	SELECT json_agg(json_build_object('payload', n, 'partition', 'p' || n) ORDER BY n)::text FROM generate_series(first, last) n
$$;
CREATE FUNCTION pg_temp.push(VARIADIC numbers int[]) RETURNS bigint LANGUAGE sql AS $$
	SELECT count(queen.push('limits', '1', 'p' || n)) FROM unnest(numbers) n
$$;
-- Locks of ours on partitions and cursors.
CREATE VIEW pg_temp.taken AS
	SELECT count(*) AS locks FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory' AND objsubid IN (20740, 20741, 20744, 20752, 20755);
SELECT queen.create_queue('limits') \g /dev/null
SELECT count(*) FROM queen.push_items('limits', pg_temp.items(1, 200)) \g /dev/null
\set QUIET off
-- The default follows the server's settings: one call after a push, which keeps it from locking the whole queue.
BEGIN;
SELECT pg_temp.push(1);
\set VERBOSITY sqlstate
SELECT count(*) FROM queen.push_items('limits', pg_temp.items(1, 50000));
\set VERBOSITY default
ROLLBACK;
-- At its beginning, and beside others, it takes one lock.
BEGIN;
SELECT count(*) FROM queen.push_items('limits', pg_temp.items(1, 200));
SELECT * FROM pg_temp.taken;
ROLLBACK;
SET queen.max_transaction_locks = 5;
-- Up to the limit, those that are held already as often as one likes.
BEGIN;
SELECT pg_temp.push(1, 2, 3, 4, 5, 1, 2, 3, 4, 5);
SELECT * FROM pg_temp.taken;
SAVEPOINT a;
SELECT pg_temp.push(6);
ROLLBACK TO a;
SELECT pg_temp.push(5);
-- What commits later locks later.
SELECT count(queen.push_deferred('limits', '"later"', 'p' || n)) FROM generate_series(1, 5) n;
COMMIT;
BEGIN;
SELECT pg_temp.push(1, 2);
SELECT count(queen.push_deferred('limits', '"later"', 'p' || n)) FROM generate_series(1, 20) n;
COMMIT;
SELECT count(*) FROM queen.segment s JOIN queen.partitions p USING (partition_id) WHERE p.partition = 'p20';
-- A savepoint that is rolled back gives its locks back, and each transaction begins anew.
BEGIN;
DO $$
BEGIN
	FOR i IN 1 .. 40 LOOP
		BEGIN
			PERFORM pg_temp.push(i);
			RAISE EXCEPTION USING ERRCODE = 'UNDO0';
		EXCEPTION WHEN SQLSTATE 'UNDO0' THEN
		END;
	END LOOP;
END $$;
SELECT pg_temp.push(6, 7, 8, 9, 10);
SELECT * FROM pg_temp.taken;
COMMIT;
SELECT pg_temp.push(1, 2, 3, 4, 5);
-- A pop takes no more than it may, and the next one goes on with the others.
BEGIN;
SELECT count(DISTINCT partition) FROM queen.pop('limits', 'g', 1000, max_partitions => 1000);
SELECT * FROM pg_temp.taken;
SELECT count(DISTINCT partition) FROM queen.pop('limits', 'g', 1000, max_partitions => 1000);
COMMIT;
SELECT count(DISTINCT partition) FROM queen.pop('limits', 'g', 1000, max_partitions => 1000);
SELECT count(*) FROM queen.leases WHERE queue = 'limits';
RESET queen.max_transaction_locks;
SELECT count(DISTINCT partition) FROM queen.pop('limits', 'g', 1000, max_partitions => 1000);
SET queen.max_transaction_locks = 5;
BEGIN;
SELECT count(*) FROM queen.ack_leases((SELECT array_agg(lease) FROM (SELECT lease FROM queen.leases WHERE queue = 'limits' LIMIT 6) l));
ROLLBACK;
SELECT count(*) FROM queen.ack_leases((SELECT array_agg(lease) FROM (SELECT lease FROM queen.leases WHERE queue = 'limits' LIMIT 5) l));
-- Only a superuser, or whom he lets, decides.
CREATE ROLE regress_queen_limits;
SET ROLE regress_queen_limits;
SET queen.max_transaction_locks = 1000;
SET queen.max_partition_locks = 1000;
SET queen.max_message_bytes = 1024;
SET queen.max_headers_bytes = 64;
SET queen.max_batch = 10;
SET queen.max_pop_wait = 10;
RESET ROLE;
DROP ROLE regress_queen_limits;
RESET queen.max_transaction_locks;
--
-- No name that somebody chooses in one queue holds up another queue
--
BEGIN;
SELECT (queen.push('limits', '1', 'made')).message_offset, queen.subscribe('limits', 'made');
SELECT objsubid, bool_and(classid = (SELECT queue_id FROM queen.queue WHERE name = 'limits')) AS of_the_queue FROM pg_locks
 WHERE pid = pg_backend_pid() AND locktype = 'advisory' AND objsubid IN (20743, 20744) GROUP BY 1 ORDER BY 1;
ROLLBACK;
--
-- How many messages one call takes or answers, and how large headers are
--
SET queen.max_batch = 3;
SELECT messages FROM queen.push_batch('limits', '[1, 2, 3]', 'batch');
SELECT messages FROM queen.push_batch('limits', '[1, 2, 3, 4]', 'batch');
SELECT count(*) FROM queen.push_items('limits', pg_temp.items(1, 3));
SELECT count(*) FROM queen.push_items('limits', pg_temp.items(1, 4));
RESET queen.max_batch;
SELECT messages FROM queen.push_batch('limits', '[4, 5, 6, 7]', 'batch');
SET queen.max_batch = 3;
SELECT string_agg(payload::text, ' ' ORDER BY message_offset) FROM queen.pop('limits', 'batch', partition => 'batch', auto_ack => true);
SELECT string_agg(payload::text, ' ' ORDER BY message_offset) FROM queen.pop('limits', 'batch', 1000000, 'batch', auto_ack => true);
SELECT string_agg(payload::text, ' ' ORDER BY message_offset) FROM queen.pop('limits', 'batch', 1000000, 'batch', auto_ack => true);
SELECT string_agg(payload::text, ' ' ORDER BY message_offset) FROM queen.read('limits', 'batch', 1, 1000000);
RESET queen.max_batch;
SET queen.max_headers_bytes = 64;
SELECT message_offset FROM queen.push('limits', '1', 'headers', headers => jsonb_build_object('h', repeat('x', 55)));
SELECT message_offset FROM queen.push('limits', '1', 'headers', headers => jsonb_build_object('h', repeat('x', 56)));
SELECT message_offset FROM queen.push_items('limits', json_build_array(json_build_object('payload', 1, 'headers', json_build_object('h', repeat('x', 56)))));
SELECT queen.push_deferred('limits', '1', 'headers', headers => jsonb_build_object('h', repeat('x', 56)));
RESET queen.max_headers_bytes;
SELECT queen.drop_queue('limits', true);
--
-- The last offset and the last version, to which only a superuser's hand brings a row
--
SELECT queen.create_queue('last', dedup_window => '1 h');
SELECT queen.push('last', '1', 'p', 'id'), queen.push('last', '1', 'c');
CREATE FUNCTION pg_temp.number(name text) RETURNS bigint LANGUAGE sql AS $$SELECT partition_id FROM queen.partitions WHERE queue = 'last' AND partition = name$$;
UPDATE queen.segment SET base_offset = 9223372036854775804 WHERE partition_id = pg_temp.number('p');
\set VERBOSITY sqlstate
SELECT queen.push_batch('last', '[1, 2, 3]', 'p');
\set VERBOSITY default
SELECT queen.push_batch('last', '[1, 2]', 'p');
\set VERBOSITY sqlstate
SELECT queen.push('last', '1', 'p');
SELECT queen.push_items('last', '[{"payload": 1, "partition": "p"}]');
BEGIN;
SELECT queen.push_deferred('last', '1', 'p');
COMMIT;
\set VERBOSITY default
SELECT partition, messages, next_offset FROM queen.partitions WHERE queue = 'last' ORDER BY 1;
SELECT message_offset, payload FROM queen.read('last', 'p', 9223372036854775805, 10);
SELECT old_committed, new_committed, messages FROM queen.seek('last', 'g', partition => 'p', to_offset => 9223372036854775806);
SELECT message_offset, delivery, queen.ack(lease) FROM queen.pop('last', 'g', 10, 'p');
SELECT committed, behind FROM queen.cursors WHERE queue = 'last' AND partition = 'p';
SELECT old_committed, new_committed FROM queen.seek('last', 'g', partition => 'p', to_end => true);
SELECT old_committed, new_committed FROM queen.seek('last', 'g', partition => 'p', by => 9223372036854775807);
SELECT old_committed, new_committed FROM queen.seek('last', 'g', partition => 'p', by => -9223372036854775807);
SELECT lease AS held FROM queen.pop('last', 'g', partition => 'c') \gset
UPDATE queen.cursor SET version = 9223372036854775807 WHERE partition_id = pg_temp.number('c');
\set VERBOSITY sqlstate
SELECT queen.ack(:'held');
SELECT queen.renew(:'held');
SELECT queen.nack(:'held', 0);
SELECT new_committed FROM queen.seek('last', 'g', partition => 'c', to_end => true);
UPDATE queen.dedup SET version = 9223372036854775807 WHERE partition_id = pg_temp.number('p');
SELECT queen.push('last', '1', 'other', 'id'), queen.push('last', '2', 'other', 'id');
SELECT queen.push('last', '1', 'p', 'another');
\set VERBOSITY default
SELECT queen.drop_queue('last', true);
