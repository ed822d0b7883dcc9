-- dedup: a transaction id is one message in its partition, as long as the window lasts.
\set QUIET on
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS queen;
SELECT queen.worker_stop() \g /dev/null
CREATE FUNCTION pg_temp.fails(command text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE command;
	RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ': ' || left(SQLERRM, 100);
END $$;
-- Makes the window 1 ms long, and lets it pass.
CREATE FUNCTION pg_temp.let_pass(q text) RETURNS void LANGUAGE sql AS $$
	SELECT queen.alter_queue(q, dedup_window => '1 ms'); SELECT FROM pg_sleep(0.003);
$$;
CREATE FUNCTION pg_temp.ids(first int, last int, p text DEFAULT 'p') RETURNS jsonb LANGUAGE sql AS $$
	SELECT jsonb_agg(jsonb_build_object('payload', n, 'partition', p, 'transactionId', 'id ' || n)) FROM generate_series(first, last) n
$$;
-- Pushes ids and counts the answers; the offset of each id is its number less one.
CREATE FUNCTION pg_temp.push_ids(q text, first int, last int, p text DEFAULT 'p') RETURNS TABLE (status text, items bigint, in_place boolean) LANGUAGE sql AS $$
	SELECT status, count(*), bool_and(message_offset = first + item - 1) FROM queen.push_items(q, pg_temp.ids(first, last, p)) GROUP BY 1 ORDER BY 1
$$;
CREATE FUNCTION pg_temp.remembered() RETURNS TABLE (partitions bigint, recent bigint, runs bigint, in_runs bigint, rows_of_runs bigint) LANGUAGE sql AS $$
	SELECT count(*), sum(coalesce(length(d.recent), 0) / 24), sum(coalesce(length(d.runs), 0) / 32), (SELECT sum(length(entries) / 24) FROM queen.dedup_run), (SELECT count(*) FROM queen.dedup_run)
	  FROM queen.dedup d WHERE NOT EXISTS (SELECT FROM queen.dedup n WHERE n.partition_id = d.partition_id AND n.version > d.version)
$$;
RESET client_min_messages;
\set QUIET off
SELECT queen.create_queue('ids', retention => NULL);
SELECT * FROM queen.push('ids', '1', 'p', 'a');
SELECT * FROM queen.push('ids', '2', 'p', 'a');
-- Another id, another partition, another queue, no id: new.
SELECT message_offset, status FROM queen.push('ids', '3', 'p', 'A');
SELECT message_offset, status FROM queen.push('ids', '4', 'other', 'a');
SELECT a.message_offset, a.status, b.message_offset, b.status FROM queen.push('ids', '5', 'p') a, queen.push('ids', '5', 'p') b;
SELECT message_offset, status FROM queen.push('ids', '6', 'p', 'a ');
SELECT message_offset, status FROM queen.push('ids', '7', 'p', 'ä日😀');
SELECT message_offset, status FROM queen.push('ids', '8', 'p', 'ä日😀');
SELECT message_offset, status FROM queen.push('ids', '9', 'p', repeat('x', 1024));
SELECT message_offset, status FROM queen.push('ids', '9', 'p', repeat('x', 1024));
SELECT message_offset, status FROM queen.push('ids', '9', 'p', repeat('x', 1023));
-- An id derived by queen for a message without one is no id of a producer's.
SELECT transaction_id AS derived FROM queen.pop('ids', 'look', partition => 'p') WHERE message_offset = 2 \gset
SELECT message_offset, status FROM queen.push('ids', '10', 'p', :'derived');
SELECT message_offset, payload FROM queen.pop('ids', partition => 'p', auto_ack => true);
-- A message that was done is remembered all the same; a kind of body is as good as another.
SELECT message_offset, status FROM queen.push('ids', '\x00'::bytea, 'p', 'a');
-- Pushes that name no partition: by the hash of the id, so the same lane.
SELECT queen.create_queue('lanes', partitions => 7);
SELECT count(*), count(DISTINCT partition) > 1 AS many FROM generate_series(1, 30) n, queen.push('lanes', '1', transaction_id => 'id ' || n % 10) p WHERE status = 'queued';
--
-- Inside one call the first wins, and the rest is appended without holes
--
SELECT item, partition, message_offset, status FROM queen.push_items('ids', '[
	{"payload": 0, "partition": "batch", "transactionId": "x"}, {"payload": 1, "partition": "batch"}, {"payload": 2, "partition": "batch", "transactionId": "x"},
	{"payload": 3, "partition": "batch", "transactionId": "y"}, {"payload": 4, "partition": "batch 2", "transactionId": "x"}, {"payload": 5, "partition": "p", "transactionId": "a"},
	{"payload": 6, "partition": "batch", "transactionId": "x"}, {"payload": 7, "partition": "batch", "transactionId": "z"}]');
SELECT item, message_offset, status FROM queen.push_items('ids', '[{"payload": 8, "partition": "batch", "transactionId": "z"}, {"payload": 9, "partition": "batch", "transactionId": "new"}, {"payload": 10, "partition": "batch", "transactionId": "z"}]');
-- A call with nothing new writes nothing.
SELECT count(*) AS before FROM queen.segment \gset
SELECT item, message_offset, status FROM queen.push_items('ids', '[{"payload": 8, "partition": "batch", "transactionId": "z"}, {"payload": 9, "partition": "batch", "transactionId": "x"}]');
SELECT count(*) - :before AS segments FROM queen.segment;
SELECT string_agg(payload::text, ' ' ORDER BY message_offset) FROM queen.pop('ids', partition => 'batch', auto_ack => true);
--
-- Rollback and savepoint: what was undone was not pushed
--
BEGIN;
SELECT message_offset, status FROM queen.push('ids', '1', 'undo', 'u');
SELECT message_offset, status FROM queen.push('ids', '2', 'undo', 'u');
SAVEPOINT s;
SELECT message_offset, status FROM queen.push('ids', '3', 'undo', 'v');
ROLLBACK TO s;
SELECT message_offset, status FROM queen.push('ids', '4', 'undo', 'v');
ROLLBACK;
SELECT message_offset, status FROM queen.push('ids', '5', 'undo', 'v');
SELECT message_offset, status FROM queen.push('ids', '6', 'undo', 'u');
BEGIN;
SELECT message_offset, status FROM queen.push('ids', '7', 'undo', 'w');
PREPARE TRANSACTION 'queen dedup';
ROLLBACK PREPARED 'queen dedup';
SELECT message_offset, status FROM queen.push('ids', '8', 'undo', 'w');
--
-- The window
--
SELECT pg_temp.let_pass('ids');
SELECT message_offset AS again, status FROM queen.push('ids', '11', 'p', 'a') \gset
SELECT :'status' AS status;
SELECT queen.alter_queue('ids', dedup_window => '1 h');
-- A longer window has both in it again: the first one counts.
SELECT message_offset, status FROM queen.push('ids', '12', 'p', 'a');
-- 0 switches off: nothing is looked up, nothing is remembered; what was remembered before is not forgotten.
SELECT queen.alter_queue('ids', dedup_window => '0');
SELECT a.message_offset, a.status, b.status FROM queen.push('ids', '13', 'p', 'a') a, queen.push('ids', '14', 'p', 'off') b;
SELECT queen.alter_queue('ids', dedup_window => '1 h');
SELECT message_offset, status FROM queen.push('ids', '15', 'p', 'off');
SELECT message_offset, status FROM queen.push('ids', '16', 'p', 'a');
--
-- What was removed from the log is remembered
--
SELECT queen.create_queue('gone');
SELECT status FROM queen.push('gone', '1', 'p', 'g');
SELECT queen.purge('gone');
SELECT message_offset, status FROM queen.push('gone', '2', 'p', 'g');
SELECT message_offset, status FROM queen.push('gone', '3', 'p', 'h');
-- Copies are not deduplicated, and not remembered: a replay brings what it is asked for.
SELECT queen.create_queue('copy');
SELECT queen.replay('gone', 'p', 1, 1, 'copy'), queen.replay('gone', 'p', 1, 1, 'copy') AS again;
SELECT message_offset, status FROM queen.push('copy', '4', 'p', 'h');
SELECT message_offset, status FROM queen.push('copy', '5', 'p', 'h');
-- max_backlog counts what is new.
SELECT queen.create_queue('full', max_backlog => 2);
SELECT a.status, b.status FROM queen.push('full', '1', 'p', 'a') a, queen.push('full', '2', 'p', 'b') b;
SELECT status FROM queen.push('full', '3', 'p', 'b');
SELECT pg_temp.fails('SELECT queen.push(''full'', ''3'', ''p'', ''c'')');
--
-- Two ids with one fingerprint are two ids: their entries are made equal by hand
--
SELECT queen.create_queue('equal');
SELECT status FROM queen.push('equal', '1', 'p', 'one');
SELECT queen.push('equal', '2', 'q', 'two') \g /dev/null
-- The memory of "two" in partition q now says that offset 0 of q has the fingerprint of "one".
UPDATE queen.dedup d SET recent = o.recent FROM queen.dedup o, queen.partitions p, queen.partitions q
 WHERE p.queue = 'equal' AND q.queue = 'equal' AND p.partition = 'p' AND q.partition = 'q' AND o.partition_id = p.partition_id AND d.partition_id = q.partition_id;
SELECT message_offset, status FROM queen.push('equal', '3', 'q', 'one');
SELECT message_offset, status FROM queen.push('equal', '4', 'q', 'one');
--
-- Delayed messages
--
SELECT queen.create_queue('later');
SELECT partition, message_offset, status, scheduled_id AS id FROM queen.push('later', '1', 'p', 'd', delay => '1 hour') \gset
SELECT :'status' AS status, message_offset, p.status, scheduled_id = :id AS same FROM queen.push('later', '2', 'p', 'd', delay => '1 hour') p;
SELECT message_offset, status, scheduled_id = :id AS same FROM queen.push('later', '3', 'p', 'd');
-- Cancelled: as if it had never been pushed.
SELECT queen.cancel_scheduled(:id);
SELECT scheduled_id AS id, status FROM queen.push('later', '4', 'p', 'd', delay => '1 hour') \gset
SELECT :'status' AS status;
-- Moved: the offset in the log.
SELECT queen.reschedule(:id, '0') IS NOT NULL AS due;
SELECT queen.deliver_scheduled('later');
SELECT message_offset, status, scheduled_id FROM queen.push('later', '5', 'p', 'd');
SELECT message_offset, status, scheduled_id FROM queen.push('later', '6', 'p', 'd', delay => '1 hour');
-- The push decides: one that was accepted comes, even if its id was pushed again after the window.
SELECT scheduled_id AS id FROM queen.push('later', '7', 'p', 'e', delay => '1 hour') \gset
SELECT pg_temp.let_pass('later');
SELECT message_offset, status FROM queen.push('later', '8', 'p', 'e');
SELECT queen.alter_queue('later', dedup_window => '1 h');
SELECT queen.reschedule(:id, '0') IS NOT NULL AS due;
SELECT string_agg(payload::text, ' ' ORDER BY message_offset) FROM queen.pop('later', auto_ack => true);
SELECT message_offset, status FROM queen.push('later', '9', 'p', 'e');
-- In one call, delayed or not, the first wins; those with one time keep their order.
SELECT item, message_offset, status, scheduled_id - min(scheduled_id) OVER () AS id FROM queen.push_items('later', '[
	{"payload": 1, "partition": "mixed", "transactionId": "m", "delay": 60}, {"payload": 2, "partition": "mixed", "delay": 60}, {"payload": 3, "partition": "mixed", "transactionId": "m"},
	{"payload": 4, "partition": "mixed", "transactionId": "n"}, {"payload": 5, "partition": "mixed", "transactionId": "n", "delay": 60}, {"payload": 6, "partition": "mixed", "transactionId": "o", "delay": 60}]');
SELECT string_agg(payload::text, ' ' ORDER BY deliver_at, scheduled_id) FROM queen.scheduled_messages WHERE partition = 'mixed';
-- Beside a partition with ids, one without.
SELECT item, partition, message_offset, status, scheduled_id IS NOT NULL AS scheduled FROM queen.push_items('later', '[
	{"payload": 1, "partition": "with ids", "transactionId": "x", "delay": 60}, {"payload": 2, "partition": "without", "delay": 60}, {"payload": 3, "partition": "without"},
	{"payload": 4, "partition": "without", "delay": 60}, {"payload": 5, "partition": "without"}]');
--
-- Many ids: runs, their merging, filters, slots; every id is found at its place, and no other
--
SELECT queen.create_queue('many');
DO $$BEGIN FOR n IN 1 .. 3000 LOOP PERFORM queen.push('many', to_jsonb(n), 'single', 'id ' || n); END LOOP; END $$;
SELECT * FROM pg_temp.push_ids('many', 1, 3000, 'single');
SELECT count(*) FROM queen.push_items('many', pg_temp.ids(3001, 3500, 'single')) WHERE status = 'queued';
DO $$BEGIN FOR n IN 0 .. 39 LOOP PERFORM FROM queen.push_items('many', pg_temp.ids(n * 1000 + 1, n * 1000 + 1000)); END LOOP; END $$;
SELECT queen.push('many', '1', 'p', 'small ' || n) FROM generate_series(1, 20) n \g /dev/null
SELECT n < 20 AS few_runs, rows_of_runs > runs AS slots FROM pg_temp.remembered() r, (SELECT length(d.runs) / 32 AS n FROM queen.dedup d JOIN queen.partitions p USING (partition_id) WHERE queue = 'many' AND partition = 'p' ORDER BY version DESC LIMIT 1) x;
SELECT status, count(*), bool_and(message_offset = item * 10) FROM queen.push_items('many', (SELECT jsonb_agg(jsonb_build_object('payload', n, 'partition', 'p', 'transactionId', 'id ' || n)) FROM generate_series(1, 39991, 10) n)) GROUP BY 1;
SELECT bool_and(status = 'duplicate' AND message_offset = n - 1) FROM generate_series(7, 40000, 397) n, queen.push('many', '1', 'p', 'id ' || n);
SELECT next_offset FROM queen.partitions WHERE queue = 'many' AND partition = 'p';
-- All of 200,000 in one call, larger than what a session keeps a filter for; then it keeps one.
SELECT * FROM pg_temp.push_ids('many', 1, 200000, 'large');
SELECT * FROM pg_temp.push_ids('many', 1, 200000, 'large');
SELECT * FROM pg_temp.push_ids('many', 200001, 201000, 'large');
SELECT * FROM pg_temp.push_ids('many', 200001, 201000, 'large');
-- What this session undid, and what others pushed meanwhile, its filter learns.
BEGIN;
SELECT * FROM pg_temp.push_ids('many', 201001, 202000, 'large');
ROLLBACK;
SELECT * FROM pg_temp.push_ids('many', 201001, 201500, 'large');
\c -
\set QUIET on
CREATE FUNCTION pg_temp.let_pass(q text) RETURNS void LANGUAGE sql AS $$
	SELECT queen.alter_queue(q, dedup_window => '1 ms'); SELECT FROM pg_sleep(0.003);
$$;
CREATE FUNCTION pg_temp.ids(first int, last int, p text DEFAULT 'p') RETURNS jsonb LANGUAGE sql AS $$
	SELECT jsonb_agg(jsonb_build_object('payload', n, 'partition', p, 'transactionId', 'id ' || n)) FROM generate_series(first, last) n
$$;
CREATE FUNCTION pg_temp.push_ids(q text, first int, last int, p text DEFAULT 'p') RETURNS TABLE (status text, items bigint, in_place boolean) LANGUAGE sql AS $$
	SELECT status, count(*), bool_and(message_offset = first + item - 1) FROM queen.push_items(q, pg_temp.ids(first, last, p)) GROUP BY 1 ORDER BY 1
$$;
\set QUIET off
SELECT * FROM pg_temp.push_ids('many', 201401, 202000, 'large');
SET queen.dedup_memory = 0;
SELECT * FROM pg_temp.push_ids('many', 150001, 203000, 'large');
RESET queen.dedup_memory;
SELECT * FROM pg_temp.push_ids('many', 202001, 204000, 'large');
--
-- Purge: by steps, in partitions that are due; what is young stays
--
SELECT queen.create_queue('purge');
SELECT count(*) FROM queen.push_items('purge', (SELECT jsonb_agg(jsonb_build_object('payload', n, 'partition', 'p' || n % 5, 'transactionId', 'id ' || n)) FROM generate_series(1, 500) n));
CREATE TEMP VIEW memory AS
SELECT p.partition, count(*) AS versions, (SELECT count(*) FROM queen.dedup_run r WHERE r.partition_id = p.partition_id) AS runs, (SELECT count(*) FROM queen.dedup_due r WHERE r.partition_id = p.partition_id) AS due
  FROM queen.dedup d JOIN queen.partitions p USING (partition_id) WHERE p.queue = 'purge' GROUP BY p.partition, p.partition_id;
SELECT queen.purge_dedup('purge');
SELECT * FROM memory ORDER BY 1;
UPDATE queen.dedup_due SET due_at = now();
-- Not past after all: put off.
SELECT queen.purge_dedup('purge'), queen.purge_dedup('purge') AS again;
SELECT count(*), min(due_at) > now() + interval '59 min' AS put_off FROM queen.dedup_due d JOIN queen.partitions p USING (partition_id) WHERE p.queue = 'purge';
SELECT pg_temp.let_pass('purge');
UPDATE queen.dedup_due SET due_at = now();
SELECT queen.purge_dedup('purge', 2), queen.purge_dedup('purge', max_partitions => 2), queen.purge_dedup('purge');
SELECT count(*) FROM memory;
SELECT count(*) FROM queen.dedup_run r JOIN queen.partitions p USING (partition_id) WHERE p.queue = 'purge';
-- The partition goes on, and remembers anew.
SELECT queen.alter_queue('purge', dedup_window => '1 h');
SELECT a.status, b.status FROM queen.push('purge', '1', 'p1', 'id 1') a, queen.push('purge', '1', 'p1', 'id 1') b;
SELECT message_offset, status FROM queen.push('purge', '1', 'p1', 'id 1');
SELECT partition, versions, runs, due FROM memory;
-- A push itself removes runs that are past.
DO $$BEGIN FOR n IN 1 .. 3 LOOP PERFORM FROM queen.push_items('purge', (SELECT jsonb_agg(jsonb_build_object('payload', n, 'partition', 'p2', 'transactionId', n || ' id ' || i)) FROM generate_series(1, 100) i)); END LOOP; END $$;
SELECT partition, runs FROM memory WHERE partition = 'p2';
SELECT pg_temp.let_pass('purge');
SELECT count(*) FROM queen.push_items('purge', (SELECT jsonb_agg(jsonb_build_object('payload', i, 'partition', 'p2', 'transactionId', 'last ' || i)) FROM generate_series(1, 100) i));
SELECT partition, runs FROM memory WHERE partition = 'p2';
-- Versions do not pile up.
DO $$BEGIN FOR n IN 1 .. 200 LOOP PERFORM queen.push('purge', '1', 'p3', 'version ' || n); END LOOP; END $$;
SELECT versions <= 32 AS few FROM memory WHERE partition = 'p3';
\set QUIET on
CREATE FUNCTION pg_temp.fails(command text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE command;
	RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ': ' || left(SQLERRM, 100);
END $$;
\set QUIET off
SELECT pg_temp.fails('SELECT queen.purge_dedup(NULL)');
SELECT pg_temp.fails('SELECT queen.purge_dedup(''none'')');
SELECT pg_temp.fails('SELECT queen.purge_dedup(''purge'', 0)');
SELECT pg_temp.fails('SELECT queen.purge_dedup(''purge'', NULL)');
-- Damage is told, and nothing is appended.
WITH damaged AS (UPDATE queen.dedup_run r SET entries = substr(entries, 1, length(entries) - 1) FROM queen.partitions p WHERE p.partition_id = r.partition_id AND p.queue = 'many' AND p.partition = 'single' RETURNING 1) SELECT count(*) > 0 AS damaged FROM damaged;
SELECT pg_temp.fails('SELECT queen.push_items(''many'', ''[{"payload": 1, "partition": "single", "transactionId": "id 5"}]'')');
WITH gone AS (DELETE FROM queen.dedup_run r USING queen.partitions p WHERE p.partition_id = r.partition_id AND p.queue = 'many' AND p.partition = 'single' RETURNING 1) SELECT count(*) > 0 AS gone FROM gone;
SELECT pg_temp.fails('SELECT queen.push(''many'', ''1'', ''single'', ''id 5'')');
SELECT count(queen.drop_queue(queue, true)) FROM queen.queues;
SELECT (SELECT count(*) FROM queen.scheduled) AS scheduled, (SELECT count(*) FROM queen.dedup) AS dedup, (SELECT count(*) FROM queen.dedup_run) AS runs, (SELECT count(*) FROM queen.dedup_due) AS due;
SELECT queen.worker_start() \g /dev/null
