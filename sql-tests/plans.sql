-- plans: statements planned over empty tables stay on the primary keys when these have filled: counted in buffers.
\set QUIET on
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS queen;
RESET client_min_messages;
SET synchronous_commit = off;
-- What a statement touches, in buffers: a scan of all would be thousands.
CREATE FUNCTION pg_temp.buffers(command text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT json) ' || command INTO plan;
	plan := plan->0->'Plan';
	RETURN (plan->>'Shared Hit Blocks')::int + (plan->>'Shared Read Blocks')::int;
END $$;
-- The hot verbs, twice each, as the first one of a session reads the catalogs and plans.
CREATE FUNCTION pg_temp.hot() RETURNS TABLE (command text, few_buffers boolean, buffers int) LANGUAGE plpgsql AS $$
DECLARE
	bound int;
	l uuid;
BEGIN
	FOR command, bound IN VALUES
		('SELECT queen.push(''plans'', ''{"n": 1}'')', 40),
		('SELECT queen.push(''wide'', ''{"n": 1}'', ''p500'')', 60),
		('SELECT queen.push_batch(''plans'', ''[1, 2, 3]'')', 40),
		('SELECT * FROM queen.push_items(''plans'', ''[{"payload": 1}, {"payload": 2, "partition": "p7"}]'')', 90),
		('SELECT * FROM queen.pop(''plans'', auto_ack => true)', 100),
		('SELECT * FROM queen.pop(''plans'', batch => 10, partition => ''Default'', auto_ack => true)', 60),
		('SELECT * FROM queen.pop(''wide'', partition => ''p500'', auto_ack => true)', 60),
		('SELECT * FROM queen.pop(''plans'', ''second'', batch => 10, partition => ''Default'', auto_ack => true)', 60),
		('SELECT * FROM queen.pop(''plans'', ''lease'', batch => 10, partition => ''Default'', lease_time => ''1 microsecond'')', 60),
		('SELECT queen.ack(%L, %s)', 40), ('SELECT queen.ack_messages(%L, array[%s + 2])', 40),
		('SELECT * FROM queen.ack_leases(array[%L]::uuid[])', 40),
		('SELECT queen.renew(%L, ''1 microsecond'')', 40), ('SELECT queen.nack(%L, delay => ''0'')', 60),
		('SELECT queen.reject(%L)', 60), ('SELECT queen.release(%L)', 40)
	LOOP
		FOR n IN 1 .. 2 LOOP
			IF command LIKE '%\%L%' THEN
				buffers := pg_temp.buffers((SELECT format(command, min(p.lease::text), min(p.message_offset))
											  FROM queen.pop('plans', 'lease', 10, 'Default', '1 microsecond') p));
			ELSE
				buffers := pg_temp.buffers(command);
			END IF;
		END LOOP;
		few_buffers := buffers < bound;
		RETURN NEXT;
	END LOOP;
END $$;
CREATE FUNCTION pg_temp.fails(command text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE command;
	RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$;
-- Scans of whole tables that this database has counted so far.
CREATE FUNCTION pg_temp.seq_scans() RETURNS TABLE (relname name, seq_scan bigint) LANGUAGE sql AS $$
	SELECT relname, seq_scan FROM pg_stat_user_tables WHERE schemaname = 'queen' AND relname IN ('segment', 'cursor', 'partition')
$$;

-- Vacuumed while empty; the plans of this session are made now, over nothing.
VACUUM (ANALYZE) queen.queue, queen.partition, queen.segment, queen.consumer_group, queen.cursor, queen.dead_letter;
SELECT queen.create_queue('plans', max_deliveries => NULL);
SELECT queen.create_queue('wide');
SELECT partition, message_offset FROM queen.push('plans', '{"n": 0}');
SELECT queen.subscribe('plans', 'goes');
SELECT queen.unsubscribe('plans', 'goes');
SELECT count(*) FROM queen.pop('plans', auto_ack => true);
SELECT FROM queen.push_batch('plans', (SELECT jsonb_agg(n) FROM generate_series(1, 200) n));
SELECT count(*) FROM pg_temp.hot();

-- 300,000 messages in 3,000 segments of one partition, and a thousand partitions beside it.
DO $$
DECLARE
	hundred jsonb := (SELECT jsonb_agg(jsonb_build_object('n', n)) FROM generate_series(1, 100) n);
BEGIN
	FOR n IN 1 .. 3000 LOOP
		PERFORM queen.push_batch('plans', hundred);
	END LOOP;
END $$;
SELECT count(*) FROM queen.push_items('wide', (SELECT jsonb_agg(jsonb_build_object('payload', n, 'partition', 'p' || n)) FROM generate_series(1, 1000) n));
SELECT count(*) FROM queen.pop('wide', batch => 1000, max_partitions => 1000, auto_ack => true);
SELECT count(*) >= 4000 AS segments, sum(message_count) >= 300000 AS messages FROM queen.segment;
SELECT created_at AS middle FROM queen.segment WHERE message_count = 100 ORDER BY partition_id, base_offset LIMIT 1 OFFSET 1500 \gset
SELECT pg_stat_force_next_flush();
CREATE TEMP TABLE scans AS SELECT * FROM pg_temp.seq_scans();
SELECT command, few_buffers FROM pg_temp.hot();
-- A group that begins in the middle finds its place by a binary search.
SELECT queen.subscribe('plans', 'middle', 'timestamp', :'middle');
SELECT pg_temp.buffers('SELECT * FROM queen.pop(''plans'', ''middle'', batch => 10, partition => ''Default'')') < 150 AS few_buffers;
SELECT pg_temp.buffers('SELECT queen.subscribe(''plans'', ''at the end'', ''new'')') < 100 AS few_buffers;

-- Removing a group finds its cursors by its queue's partitions, however many others there are.
INSERT INTO queen.cursor (partition_id, group_id, version, committed, at) SELECT -n, 0, 1, 0, now() FROM generate_series(1, 50000) n;
SELECT queen.subscribe('plans', 'goes');
SELECT pg_temp.buffers('SELECT queen.unsubscribe(''plans'', ''goes'')') < 100 AS few_buffers;
DELETE FROM queen.cursor WHERE partition_id < 0;

-- What the session asks of the planner does not reach queen's own statements, and stays the session's.
SET enable_indexscan = off;
SET enable_indexonlyscan = off;
SET enable_bitmapscan = off;
SET enable_nestloop = off;
SET plan_cache_mode = force_custom_plan;
SELECT command, few_buffers FROM pg_temp.hot() WHERE NOT few_buffers;
SET plan_cache_mode = force_generic_plan;
SELECT command, few_buffers FROM pg_temp.hot() WHERE NOT few_buffers;
SELECT pg_temp.fails('SELECT FROM queen.pop(''plans'', batch => 0)');
SHOW enable_seqscan;
SHOW enable_indexscan;
SHOW plan_cache_mode;
RESET ALL;
SET synchronous_commit = off;
-- The same when all plans are made anew, over tables with statistics.
VACUUM (ANALYZE) queen.queue, queen.partition, queen.segment, queen.consumer_group, queen.cursor;
SELECT command, few_buffers FROM pg_temp.hot() WHERE NOT few_buffers;
SELECT pg_stat_force_next_flush();
SELECT s.relname, s.seq_scan - b.seq_scan AS scans FROM pg_temp.seq_scans() s JOIN scans b USING (relname) ORDER BY 1;

--
-- 2,000 cycles of pop and ack, each its own transaction: the newest version is found at once, the old ones go
--
SELECT queen.create_queue('cycle');
SELECT FROM queen.push_batch('cycle', (SELECT jsonb_agg(n) FROM generate_series(1, 2100) n));
CREATE TEMP TABLE cycles (n int, buffers int);
DO $$
DECLARE
	l uuid;
	pop int;
BEGIN
	FOR n IN 1 .. 2000 LOOP
		IF n % 100 = 50 THEN
			pop := pg_temp.buffers('SELECT * FROM queen.pop(''cycle'', batch => 1)');
			SELECT lease INTO l FROM queen.leases WHERE queue = 'cycle';
			INSERT INTO cycles VALUES (n, pop + pg_temp.buffers(format('SELECT queen.ack(%L)', l)));
		ELSE
			SELECT lease INTO l FROM queen.pop('cycle', batch => 1);
			PERFORM queen.ack(l);
		END IF;
		COMMIT;
	END LOOP;
END $$;
SELECT version, committed, behind FROM queen.cursors WHERE queue = 'cycle';
SELECT partition_id AS p, group_id AS g FROM queen.cursors WHERE queue = 'cycle' \gset
SELECT count(*) <= 16 AS few_rows FROM queen.cursor WHERE partition_id = :p AND group_id = :g;
SET enable_seqscan = off;
SELECT pg_temp.buffers(format('SELECT committed FROM queen.cursor WHERE partition_id = %s AND group_id = %s ORDER BY version DESC LIMIT 1', :p, :g)) <= 5 AS few_buffers;
SELECT (SELECT sum(buffers) FROM cycles WHERE n > 1500) <= 1.25 * (SELECT sum(buffers) FROM cycles WHERE n < 500) AS constant;
RESET enable_seqscan;

--
-- Ids and delays: a push with an id reads a few pages of what its partition remembers, merged dead rows or not;
-- a pop that finds nothing due looks once; what is due is found by index
--
SELECT queen.create_queue('ids');
SELECT count(*) FROM queen.push_items('ids', (SELECT jsonb_agg(jsonb_build_object('payload', n, 'partition', 'p', 'transactionId', 'id ' || n)) FROM generate_series(1, 20000) n));
DO $$BEGIN FOR n IN 1 .. 3000 LOOP PERFORM queen.push('ids', '1', 'p', 'single ' || n); COMMIT; END LOOP; END $$;
CREATE TABLE waits AS SELECT count(*) FROM queen.push_items('ids', (SELECT jsonb_agg(jsonb_build_object('payload', n, 'partition', 'w' || n, 'delay', '1 h')) FROM generate_series(1, 20000) n));
SELECT command, min(pg_temp.buffers(command)) < bound AS few_buffers FROM (VALUES
	('SELECT queen.push(''ids'', ''1'', ''p'', ''new '' || clock_timestamp())', 180), ('SELECT queen.push(''ids'', ''1'', ''p'', ''id 7'')', 250), ('SELECT queen.push(''ids'', ''1'', ''few'', ''new '' || clock_timestamp())', 60),
	('SELECT queen.push(''ids'', ''1'', ''p'', delay => ''1 h'')', 40), ('SELECT * FROM queen.pop(''ids'', ''none'', partition => ''none'')', 40), ('SELECT queen.deliver_scheduled(''ids'')', 20),
	('SELECT queen.cancel_scheduled((SELECT min(scheduled_id) FROM queen.scheduled))', 400), ('SELECT queen.purge_dedup(''ids'')', 20)) c (command, bound), generate_series(1, 3) GROUP BY command, bound ORDER BY command COLLATE "C";
UPDATE queen.scheduled SET deliver_at = now() + (right(partition_name, 1) || ' us')::interval WHERE partition_name IN ('w77', 'w78', 'w79');
SELECT min(pg_temp.buffers('SELECT queen.deliver_scheduled(''ids'', 1)')) < 250 AS few_buffers FROM generate_series(1, 3);
SELECT next_offset FROM queen.partitions WHERE queue = 'ids' AND partition = 'w77';
DROP TABLE waits;
SELECT count(queen.drop_queue(queue, true)) FROM queen.queues;
