-- retention: each rule, its edges, what it leaves alone, what readers find afterwards, idle partitions, histories.
\set QUIET on
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS queen;
SET timezone = 'UTC';
-- Segments of so many messages each, one after the other, in one partition.
CREATE FUNCTION pg_temp.fill(queue text, sizes int[], partition text DEFAULT 'p') RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. cardinality(sizes) LOOP
		PERFORM queen.push_batch(queue, (SELECT jsonb_agg(n) FROM generate_series(1, sizes[i]) n), partition);
	END LOOP;
END $$;
-- Makes the segments of a queue older: the first ones by ages[1], the next by ages[2] and so on, in each partition.
CREATE FUNCTION pg_temp.age(queue_name text, ages interval[]) RETURNS void LANGUAGE sql AS $$
	WITH numbered AS (
		SELECT s.partition_id, s.base_offset, row_number() OVER (PARTITION BY s.partition_id ORDER BY s.base_offset) AS n
		  FROM queen.segment s JOIN queen.partitions p USING (partition_id) WHERE p.queue = queue_name),
	moved AS (
		UPDATE queen.segment s SET created_at = clock_timestamp() - ages[n.n] FROM numbered n
		 WHERE s.partition_id = n.partition_id AND s.base_offset = n.base_offset AND n.n <= cardinality(ages)
		RETURNING s.partition_id, s.created_at)
	UPDATE queen.partition p SET oldest_at = m.created_at FROM (SELECT partition_id, min(created_at) AS created_at FROM moved GROUP BY 1) m
	 WHERE p.partition_id = m.partition_id
$$;
-- What a pass by hand removes, or would.
CREATE FUNCTION pg_temp.retain(queue text, dry_run boolean DEFAULT false, OUT partition text, OUT removed text, OUT segments bigint,
	OUT messages bigint, OUT rule text, OUT unread jsonb) RETURNS SETOF record LANGUAGE sql AS $$
	SELECT r.partition, r.first_offset || '-' || r.last_offset, r.segments, r.messages, r.rule, r.unread FROM queen.retain(queue, dry_run) r ORDER BY 1
$$;
-- The offsets that a partition keeps, its segments, and whether its row tells the truth.
CREATE FUNCTION pg_temp.kept(queue_name text, OUT partition text, OUT kept text, OUT segments bigint, OUT whole boolean, OUT oldest boolean)
RETURNS SETOF record LANGUAGE sql AS $$
	SELECT p.name, p.log_start || '-' || coalesce(max(s.base_offset + s.message_count), p.log_start) - 1, count(s),
		   coalesce(min(s.base_offset) = p.log_start, true),
		   p.oldest_at = coalesce(min(s.created_at), 'infinity') OR min(s.created_at) - p.oldest_at BETWEEN '0' AND '1 s'
	  FROM queen.queue q JOIN queen.partition p USING (queue_id) LEFT JOIN queen.segment s USING (partition_id)
	 WHERE q.name = queue_name GROUP BY p.partition_id ORDER BY 1
$$;
CREATE FUNCTION pg_temp.fails(command text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	why text;
BEGIN
	EXECUTE command;
	RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS why = PG_EXCEPTION_DETAIL;
	RETURN regexp_replace(SQLSTATE || ': ' || SQLERRM || coalesce(' (' || nullif(why, '') || ')', ''),
						  '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}', 'UUID', 'g');
END $$;
-- By hand only: the worker stays away until the end of this file.
SELECT queen.worker_stop();
RESET client_min_messages;
\set QUIET off

--
-- By age: whole segments, the oldest first
--
SELECT queen.create_queue('age', retention => '1 hour');
SELECT pg_temp.fill('age', '{3,2,4}'), pg_temp.fill('age', '{1}', 'fresh');
SELECT pg_temp.age('age', '{2 h, 61 min, 59 min}');
-- A look changes nothing, and is allowed where nothing may be changed.
BEGIN READ ONLY;
SELECT * FROM pg_temp.retain('age', true);
SELECT pg_temp.fails($$SELECT * FROM queen.retain('age')$$);
ROLLBACK;
SELECT * FROM pg_temp.kept('age');
SELECT * FROM pg_temp.retain('age');
SELECT * FROM pg_temp.kept('age');
SELECT * FROM pg_temp.retain('age');
-- What is rolled back never went.
BEGIN;
SELECT pg_temp.age('age', '{2 h}');
SAVEPOINT s;
SELECT * FROM pg_temp.retain('age');
ROLLBACK TO s;
SELECT * FROM pg_temp.kept('age') WHERE partition = 'p';
ROLLBACK;
-- A partition that is emptied: the last offset is not forgotten, and time does not go back.
SELECT pg_temp.age('age', '{2 h}');
UPDATE queen.segment SET created_at = clock_timestamp() - interval '90 min' WHERE created_at < now() - interval '1 hour';
SELECT * FROM pg_temp.retain('age');
SELECT * FROM pg_temp.kept('age');
SELECT partition, first_offset, next_offset, messages, last_at < now() - interval '80 min' AS last_at FROM queen.partitions WHERE queue = 'age' ORDER BY 1;
SELECT message_offset FROM queen.push('age', '1', 'p');
SELECT * FROM pg_temp.kept('age');
-- The clock set back: pushes that follow carry the time of the tail that went.
UPDATE queen.segment s SET created_at = '2100-01-01' FROM queen.partitions p WHERE p.queue = 'age' AND s.partition_id = p.partition_id;
SELECT * FROM pg_temp.retain('age');
SELECT queen.alter_queue('age', retention => NULL, retention_messages => 1);
SELECT message_offset FROM queen.push('age', '2', 'p');
SELECT * FROM pg_temp.retain('age');
SELECT DISTINCT created_at FROM queen.pop('age', 'clock', partition => 'p');
SELECT queen.drop_queue('age', true);

--
-- By what groups have done
--
SELECT queen.create_queue('done', completed_retention => '1 hour', lease => '1 hour');
SELECT pg_temp.fill('done', '{2,2,2}');
SELECT pg_temp.age('done', '{3 h, 2 h, 1 min}');
-- No group: nothing counts as done.
SELECT * FROM pg_temp.retain('done');
SELECT queue, partition, consumer_group, messages, since < now() - interval '170 min' AS since, overdue > '110 min' AS overdue, why FROM queen.retention_pins;
-- One that has done it, and one that never popped and stands at its start.
SELECT count(*) FROM queen.pop('done', 'quick', auto_ack => true);
SELECT queen.subscribe('done', 'slow');
SELECT * FROM pg_temp.retain('done');
SELECT queue, partition, consumer_group, messages, since < now() - interval '170 min' AS since, why FROM queen.retention_pins;
-- A lease binds, too; and what is done in the middle of a segment keeps the segment.
SELECT lease AS l FROM queen.pop('done', 'slow', 3) LIMIT 1 \gset
SELECT * FROM pg_temp.retain('done');
SELECT consumer_group, messages, why FROM queen.retention_pins;
SELECT queen.ack(:'l', 0);
SELECT * FROM pg_temp.retain('done');
SELECT queen.ack(:'l');
SELECT * FROM pg_temp.retain('done', true);
SELECT * FROM pg_temp.retain('done');
SELECT * FROM pg_temp.kept('done');
SELECT queen.ack(lease) FROM queen.pop('done', 'slow', 1);
-- All of it is done, but this is too young to go.
SELECT count(*) FROM queen.pop('done', 'slow', auto_ack => true);
SELECT * FROM pg_temp.retain('done');
SELECT * FROM pg_temp.retain('done', true);
SELECT count(*) FROM queen.retention_pins;
-- A group that begins at a time stands there.
SELECT queen.create_queue('timed', completed_retention => '1 hour');
SELECT pg_temp.fill('timed', '{2,2,2}');
SELECT pg_temp.age('timed', '{3 h, 2 h, 90 min}');
SELECT queen.subscribe('timed', 'g', 'timestamp', now() - interval '100 min');
SELECT * FROM pg_temp.retain('timed');
SELECT consumer_group, why FROM queen.retention_pins;
-- A group that goes pins nothing any more; where it was the only one, nothing goes.
SELECT count(*) FROM queen.pop('timed', 'h', auto_ack => true);
SELECT queen.unsubscribe('timed', 'g');
SELECT * FROM pg_temp.retain('timed');
SELECT queen.drop_queue('timed', true), queen.drop_queue('done', true);

--
-- By number and by size: at least that much is kept
--
SELECT queen.create_queue('number', retention_messages => 5);
SELECT pg_temp.fill('number', '{3,2,4}'), pg_temp.fill('number', '{3,2}', 'few'), pg_temp.fill('number', '{9}', 'one');
SELECT * FROM pg_temp.retain('number', true);
SELECT * FROM pg_temp.retain('number');
SELECT * FROM pg_temp.kept('number');
SELECT pg_temp.fill('number', '{1}'), pg_temp.fill('number', '{5}', 'one');
SELECT * FROM pg_temp.retain('number');
SELECT * FROM pg_temp.kept('number');
SELECT queen.drop_queue('number', true);
SELECT queen.create_queue('size', retention_bytes => 1000);
SELECT FROM queen.push('size', to_jsonb(repeat('x', 290)), 'p') \; SELECT FROM queen.push('size', to_jsonb(repeat('x', 290)), 'p')
	\; SELECT FROM queen.push('size', to_jsonb(repeat('x', 290)), 'p') \; SELECT FROM queen.push('size', to_jsonb(repeat('x', 290)), 'small') \g /dev/null
SELECT * FROM pg_temp.retain('size');
SELECT FROM queen.push('size', to_jsonb(repeat('x', 290)), 'p') \; SELECT FROM queen.push('size', to_jsonb(repeat('x', 290)), 'p') \g /dev/null
SELECT * FROM pg_temp.retain('size', true);
SELECT * FROM pg_temp.retain('size');
SELECT (SELECT sum(pg_column_size(frames)) FROM queen.segment JOIN queen.partition p USING (partition_id) WHERE p.name = 'p') = z.bytes AS counted
  FROM queen.partition_size z JOIN queen.partition n USING (partition_id) WHERE n.name = 'p';
-- The count goes on after a purge, and after another rule has removed something.
SELECT queen.purge('size');
SELECT left(string_agg(md5(i::text), ''), 1290) AS noise FROM generate_series(1, 41) AS i \gset
SELECT FROM queen.push('size', to_jsonb(:'noise'::text), 'p') \; SELECT FROM queen.push('size', to_jsonb(:'noise'::text), 'p') \g /dev/null
SELECT * FROM pg_temp.retain('size');
SELECT queen.alter_queue('size', retention => '1 hour');
SELECT pg_temp.age('size', '{2 h}');
SELECT * FROM pg_temp.retain('size');
SELECT FROM queen.push('size', to_jsonb(:'noise'::text), 'p') \; SELECT FROM queen.push('size', to_jsonb(:'noise'::text), 'p') \g /dev/null
SELECT * FROM pg_temp.retain('size');
SELECT * FROM pg_temp.kept('size');
-- More than one step counts: 6,000 segments.
SELECT FROM queen.push('size', '0', 'many') \g /dev/null
INSERT INTO queen.segment SELECT partition_id, n, s.created_at, 1, frames FROM queen.segment s JOIN queen.partition p USING (partition_id), generate_series(1, 5999) n WHERE p.name = 'many';
SELECT queen.alter_queue('size', retention_bytes => 38000, retention => NULL);
DO $$BEGIN WHILE (SELECT bool_or(more) FROM queen.maintain()) LOOP COMMIT; END LOOP; END $$;
SELECT * FROM pg_temp.kept('size') WHERE partition = 'many';
SELECT queen.drop_queue('size', true);
SELECT count(*) FROM queen.partition_size;

--
-- Several rules, groups that lose unread messages, and what readers find
--
SELECT queen.create_queue('mixed', retention => '1 hour', completed_retention => '10 min', retention_messages => 100, lease => '1 hour', retry_delay => '0', retry_limit => 5);
SELECT pg_temp.fill('mixed', '{2,2,2,2,2}'), pg_temp.fill('mixed', '{2,2}', 'q');
SELECT lease AS l FROM queen.pop('mixed', 'holds', 3, partition => 'p') LIMIT 1 \gset
SELECT lease AS l2 FROM queen.pop('mixed', 'holds', 4, partition => 'q') LIMIT 1 \gset
SELECT count(*) FROM queen.pop('mixed', 'ahead', 5, partition => 'p', auto_ack => true);
SELECT queen.ack_messages(lease, '{1,3}') FROM queen.pop('mixed', 'odd "group"', 4, partition => 'p') LIMIT 1;
SELECT queen.reject(lease, reason => 'kept') FROM queen.pop('mixed', 'buries', 1, partition => 'p');
SELECT pg_temp.age('mixed', '{3 h, 2 h, 5 min, 5 min, 5 min}');
SELECT * FROM pg_temp.retain('mixed', true);
SELECT * FROM pg_temp.retain('mixed');
SELECT * FROM pg_temp.kept('mixed');
-- An ack over removed messages succeeds; a nack or reject of a removed one passes it and says so.
SELECT consumer_group, partition, behind, leased FROM queen.cursors WHERE queue = 'mixed' AND partition = 'p' ORDER BY 1;
BEGIN;
SELECT queen.ack(:'l');
ROLLBACK;
SELECT queen.nack(:'l', 1);
SELECT message_offset, delivery FROM queen.pop('mixed', 'holds', 1, partition => 'p');
SELECT queen.reject(:'l2', 3, complete_before => true);
SELECT count(*) FROM queen.dead_letters WHERE queue = 'mixed';
SELECT pg_temp.fill('mixed', '{1}', 'q');
SELECT message_offset FROM queen.pop('mixed', 'holds', partition => 'q');
-- Dead letters are not touched.
SELECT message_offset, reason FROM queen.dead_letters WHERE queue = 'mixed';
-- A seek by time below what is kept goes to the oldest kept; by offset it is refused.
SELECT new_committed FROM queen.seek('mixed', 'ahead', partition => 'p', to_timestamp => now() - interval '150 min');
SELECT pg_temp.fails($$SELECT queen.seek('mixed', 'ahead', partition => 'p', to_offset => 3)$$);
SELECT new_committed FROM queen.seek('mixed', 'ahead', partition => 'p', to_offset => 4);
SELECT new_committed FROM queen.seek('mixed', 'ahead', partition => 'p', by => -100);
SELECT message_offset FROM queen.pop('mixed', 'ahead', 1, partition => 'p');
SELECT min(message_offset) FROM queen.pop('mixed', 'new', partition => 'p');
-- All of it went while a lease ran.
SELECT lease AS l FROM queen.pop('mixed', 'late', partition => 'p') LIMIT 1 \gset
SELECT pg_temp.age('mixed', '{3 h, 3 h, 3 h}');
SELECT * FROM pg_temp.retain('mixed') WHERE partition = 'p';
SELECT queen.nack(:'l');
SELECT partition, behind, leased FROM queen.cursors WHERE queue = 'mixed' AND consumer_group = 'late' ORDER BY 1;
SELECT count(*) FROM queen.pop('mixed', 'late', partition => 'p');
SELECT queue, removed_by = current_user AS by_me, partitions, segments, messages, bytes > 0 AS bytes, unread FROM queen.retention_history WHERE queue = 'mixed' ORDER BY retention_id;
SELECT queen.drop_queue('mixed', true);
SELECT count(*) FROM queen.retention_log l WHERE NOT EXISTS (SELECT FROM queen.queue q WHERE q.queue_id = l.queue_id);

--
-- The same by the steps of the worker: what is due, and a partition that says less than the truth
--
SELECT queen.create_queue('steps', retention => '1 hour', completed_retention => '30 min', retention_messages => 3);
SELECT pg_temp.fill('steps', '{1,1,1,1}', 'p' || n) FROM generate_series(1, 3) n;
SELECT count(*) FROM queen.pop('steps', 'g', partition => 'p1', auto_ack => true);
SELECT pg_temp.age('steps', '{2 h, 2 h, 40 min, 1 min}');
SELECT * FROM queen.maintain() WHERE step = 'retention';
SELECT * FROM pg_temp.kept('steps');
SELECT removed_by, partitions, segments, messages, unread FROM queen.retention_history WHERE queue = 'steps';
-- A lower bound that is too low is put right, a partition that has nothing due stays as it is.
UPDATE queen.partition SET oldest_at = '2000-01-01' WHERE name = 'p2';
SELECT * FROM queen.maintain() WHERE step = 'retention';
SELECT * FROM pg_temp.kept('steps');
-- More than one transaction of the worker: 1,200 segments.
INSERT INTO queen.segment SELECT s.partition_id, s.base_offset + n, s.created_at, 1, frames FROM queen.segment s JOIN queen.partition p USING (partition_id), generate_series(1, 1200) n
 WHERE p.name = 'p3' AND s.base_offset = 3;
SELECT * FROM queen.maintain() WHERE step = 'retention';
SELECT * FROM pg_temp.kept('steps');
SELECT queen.drop_queue('steps', true);

--
-- Idle partitions
--
SELECT queen.create_queue('idle', retention => '1 hour', drop_idle_partitions => '2 hours', dedup_window => '3 hours', lease => '1 day');
SELECT pg_temp.fill('idle', '{2}', 'old'), pg_temp.fill('idle', '{2}', 'younger'), pg_temp.fill('idle', '{2}', 'young'), pg_temp.fill('idle', '{2,2}', 'busy');
SELECT lease AS l FROM queen.pop('idle', 'g', partition => 'old') LIMIT 1 \gset
SELECT count(*) FROM queen.pop('idle', 'g', partition => 'busy', auto_ack => true);
SELECT count(*) FROM queen.seek('idle', 'h', to_beginning => true);
SELECT partition_id AS old FROM queen.partitions WHERE partition = 'old' \gset
SELECT pg_temp.age('idle', '{4 h}');
UPDATE queen.segment s SET created_at = clock_timestamp() - '150 min'::interval FROM queen.partition p WHERE p.partition_id = s.partition_id AND p.name = 'younger';
UPDATE queen.segment s SET created_at = clock_timestamp() FROM queen.partition p WHERE p.partition_id = s.partition_id AND p.name = 'young';
UPDATE queen.partition SET oldest_at = clock_timestamp() WHERE name = 'young';
-- Messages go first, then the partition. dedup_window holds one that is idle for less.
SELECT * FROM queen.maintain();
SELECT partition FROM queen.partitions WHERE queue = 'idle' ORDER BY 1;
SELECT (SELECT count(*) FROM queen.cursor WHERE partition_id = :old) AS cursors, (SELECT count(*) FROM queen.seek_move WHERE partition_id = :old) AS moves;
SELECT pg_temp.fails(format('SELECT queen.ack(%L)', :'l'));
SELECT partition, messages FROM queen.seek_undo((SELECT max(seek_id) FROM queen.seek_history)) ORDER BY 1;
-- It is made anew under another id; the lease of the old life is no good in the new one.
SELECT message_offset FROM queen.push('idle', '"new"', 'old');
SELECT partition_id > :old AS new_id, first_offset, next_offset FROM queen.partitions WHERE queue = 'idle' AND partition = 'old';
SELECT message_offset, payload FROM queen.pop('idle', 'g', partition => 'old');
SELECT pg_temp.fails(format('SELECT queen.ack(%L)', :'l')), pg_temp.fails(format('SELECT queen.nack(%L)', :'l')), pg_temp.fails(format('SELECT queen.renew(%L)', :'l'));
SELECT queen.alter_queue('idle', dedup_window => '0');
SELECT step, done FROM queen.maintain() WHERE step = 'idle partitions';
SELECT partition FROM queen.partitions WHERE queue = 'idle' ORDER BY 1;
SELECT queen.drop_queue('idle', true);

--
-- Histories age out: a seek with its cursors, rows of the retention history
--
SELECT queen.create_queue('history', retention_messages => 1);
SELECT pg_temp.fill('history', '{1,1}', 'p' || n) FROM generate_series(1, 3) n;
SELECT count(*) FROM queen.seek('history', 'g', to_end => true);
SELECT count(*) FROM queen.seek('history', 'g', to_beginning => true);
SELECT count(*) FROM queen.retain('history');
SELECT step, done FROM queen.maintain() WHERE step = 'history';
UPDATE queen.seek_log SET moved_at = now() - interval '29 days 23 hours' WHERE target = 'to_beginning';
UPDATE queen.seek_log SET moved_at = now() - interval '31 days' WHERE target = 'to_end';
UPDATE queen.retention_log SET removed_at = now() - interval '31 days';
SELECT step, done > 4 AS done FROM queen.maintain() WHERE step = 'history';
SELECT target, partitions FROM queen.seek_history;
SELECT count(*) FROM queen.retention_history;
SELECT queen.drop_queue('history', true);

--
-- Refusals
--
SELECT pg_temp.fails($$SELECT queen.retain(NULL)$$), pg_temp.fails($$SELECT queen.retain('x', NULL)$$), pg_temp.fails($$SELECT queen.retain('nowhere')$$);
SELECT queen.create_queue('keeps');
SELECT pg_temp.fill('keeps', '{1}');
SELECT count(*) FROM queen.retain('keeps', true);
SELECT pg_temp.fails($$SELECT queen.alter_queue('keeps', retention => '0')$$), pg_temp.fails($$SELECT queen.alter_queue('keeps', completed_retention => '102 years')$$);
SELECT queen.alter_queue('keeps', retention => '100 years', completed_retention => '100 years', drop_idle_partitions => '100 years');
SELECT * FROM pg_temp.retain('keeps');
SELECT * FROM queen.maintain();
CREATE ROLE regress_queen_keeper;
SET ROLE regress_queen_keeper;
SELECT pg_temp.fails($$SELECT queen.retain('keeps', true)$$), pg_temp.fails($$SELECT queen.maintain()$$), pg_temp.fails($$SELECT queen.worker_stop()$$),
	   pg_temp.fails($$SELECT queen.worker_start()$$), pg_temp.fails($$SELECT queen.start_worker()$$);
SELECT (SELECT count(*) FROM queen.retention_pins) AS pins, (SELECT count(*) FROM queen.retention_history) AS history, (SELECT count(error) FROM queen.worker_status) AS errors;
RESET ROLE;
DROP ROLE regress_queen_keeper;
SELECT queen.drop_queue('keeps', true);

--
-- Cost: with nothing due, a queue costs one probe of the index, however many partitions it has
--
SELECT queen.create_queue('wide', retention => '1 hour', drop_idle_partitions => '1 day');
INSERT INTO queen.partition (queue_id, name, oldest_at, created_at) SELECT queue_id, 'p' || n, now(), now() FROM queen.queue, generate_series(1, 20000) n WHERE name = 'wide';
ANALYZE queen.partition;
CREATE FUNCTION pg_temp.buffers(command text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT json) ' || command INTO plan;
	RETURN (plan->0->'Plan'->>'Shared Hit Blocks')::int + (plan->0->'Plan'->>'Shared Read Blocks')::int;
END $$;
SELECT pg_temp.buffers('SELECT * FROM queen.maintain()') > 0 AS first, pg_temp.buffers('SELECT * FROM queen.maintain()') < 60 AS few_buffers;
SELECT queen.drop_queue('wide', true);

--
-- One partition among many that wait for a group is found, by as many calls as that takes
--
SELECT queen.create_queue('waiting', completed_retention => '1 hour', retention_messages => 1000);
SELECT pg_temp.fill('waiting', '{1}', 'first'), queen.subscribe('waiting', 'g');
INSERT INTO queen.partition (queue_id, name, oldest_at, created_at) SELECT queue_id, 'p' || n, now(), now() FROM queen.queue, generate_series(1, 10500) n WHERE name = 'waiting';
INSERT INTO queen.segment SELECT p.partition_id, 0, s.created_at, 1, s.frames FROM queen.partition p, queen.segment s JOIN queen.partition f USING (partition_id)
 WHERE f.name = 'first' AND p.name ~ '^p[0-9]' AND p.queue_id = f.queue_id;
ANALYZE queen.partition;
SELECT pg_temp.age('waiting', '{2 hours}');
SELECT count(*) FROM queen.pop('waiting', 'g', partition => 'p10400', auto_ack => true);
DO $$
BEGIN
	FOR i IN 1 .. 100 LOOP
		PERFORM FROM queen.maintain();
		COMMIT;
		EXIT WHEN EXISTS (SELECT FROM queen.partition WHERE name = 'p10400' AND log_start = 1);
	END LOOP;
END $$;
SELECT name FROM queen.partition WHERE log_start = 1;
SELECT queen.drop_queue('waiting', true);

--
-- One push of more than a step of the worker removes
--
SELECT queen.create_queue('large', retention => '1 hour');
SELECT count(*) FROM queen.push_batch('large', (SELECT json_agg(repeat(n::text || md5(n::text), 15000)) FROM generate_series(1, 30) n)::text);
SELECT sum(length(frames)) > 12000000 AS large, count(*) > 20 AS segments FROM queen.segment s JOIN queen.partition USING (partition_id) JOIN queen.queue q USING (queue_id) WHERE q.name = 'large';
SELECT pg_temp.age('large', '{2 hours}');
UPDATE queen.segment s SET created_at = clock_timestamp() - '2 hours'::interval FROM queen.partition p, queen.queue q WHERE p.partition_id = s.partition_id AND q.queue_id = p.queue_id AND q.name = 'large';
SELECT done > 20 AS done FROM queen.maintain() WHERE step = 'retention';
SELECT first_offset, next_offset FROM queen.partitions WHERE queue = 'large';
SELECT queen.drop_queue('large', true);
VACUUM queen.partition, queen.segment;
SELECT queen.worker_start();
