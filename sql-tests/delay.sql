-- delay: messages that wait for their time, taken back, put off; delivery_delay for all messages of a queue.
\set QUIET on
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS queen;
SELECT queen.worker_stop() \g /dev/null
CREATE FUNCTION pg_temp.fails(command text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	why text;
BEGIN
	EXECUTE command;
	RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS why = PG_EXCEPTION_DETAIL;
	RETURN SQLSTATE || ': ' || left(SQLERRM, 100) || coalesce(' (' || nullif(why, '') || ')', '');
END $$;
-- Nobody waits here: what is due by then is made due now, in its order, and the rest comes nearer.
CREATE FUNCTION pg_temp.later(by interval) RETURNS void LANGUAGE sql AS $$
	UPDATE queen.scheduled s SET deliver_at = CASE WHEN r.due THEN r.at - (r.ranks - r.rank) * interval '1 us' ELSE s.deliver_at - by END, pushed_at = s.pushed_at - by
	  FROM (SELECT scheduled_id, c.at, deliver_at <= c.at + by AS due, dense_rank() OVER (ORDER BY deliver_at) AS rank,
				   (SELECT count(DISTINCT deliver_at) FROM queen.scheduled WHERE deliver_at <= c.at + by) AS ranks
			  FROM queen.scheduled, (SELECT clock_timestamp() AS at) c) r WHERE r.scheduled_id = s.scheduled_id
$$;
CREATE FUNCTION pg_temp.waits() RETURNS TABLE (partition text, payload text, body bytea, headers jsonb, transaction_id text, wait interval, due boolean) LANGUAGE sql AS $$
	SELECT partition, payload::text, body, headers, transaction_id, date_trunc('second', deliver_at - pushed_at + interval '0.5 s'), due
	  FROM queen.scheduled_messages ORDER BY deliver_at, scheduled_id
$$;
RESET client_min_messages;
\set QUIET off
SELECT queen.create_queue('later', partitions => 2);
-- Scheduled: no offset, no partition made yet, nothing to pop.
SELECT partition, message_offset, status, scheduled_id IS NOT NULL AS scheduled FROM queen.push('later', '{"b" : 1.0, "a":9007199254740993}', 'p', 'id 1', '{"h": "é"}', '1 hour');
SELECT partition, message_offset, status, scheduled_id IS NOT NULL AS scheduled FROM queen.push('later', '\x00ff'::bytea, 'bytes', delay => '90 min');
SELECT status FROM queen.push('later', '"soon"', 'p', delay => '1 min');
SELECT partition, message_offset, status, scheduled_id FROM queen.push('later', '"now"', 'p', delay => '0');
SELECT partition, message_offset, status, scheduled_id FROM queen.push('later', '"now too"', 'p', delay => NULL);
SELECT * FROM pg_temp.waits();
SELECT partition, next_offset FROM queen.partitions WHERE queue = 'later' ORDER BY 1;
SELECT message_offset, payload FROM queen.pop('later', auto_ack => true);
-- A pop moves what is due, as it was pushed, and only that.
SELECT pg_temp.later('1 hour');
SELECT partition, message_offset, payload, headers, CASE WHEN transaction_id LIKE 'id%' THEN transaction_id END AS own_id FROM queen.pop('later', auto_ack => true) ORDER BY 1, 2;
SELECT partition, wait, due FROM pg_temp.waits();
SELECT pg_temp.later('1 hour');
SELECT partition, message_offset, body FROM queen.pop('later', partition => 'bytes');
SELECT count(*) FROM queen.scheduled;
-- The time in the log is that of the move: not before it was due.
SELECT status FROM queen.push('later', '"when"', 'when', delay => '1 hour');
SELECT pg_temp.later('1 hour 1 s');
SELECT created_at >= now() AS moved_now FROM queen.pop('later', partition => 'when', auto_ack => true);
--
-- Order: by time, then by the order of pushes, whatever the order of partitions
--
SELECT count(*) FROM (SELECT queen.push('later', to_jsonb(n), 'order', delay => interval '1 hour' + (n % 3) * interval '1 s') FROM generate_series(1, 9) n) x;
SELECT item, partition, status FROM queen.push_items('later', '[{"payload": "a", "partition": "order", "delay": 10}, {"payload": "b", "partition": "order 2", "delay": 10},
	{"payload": "c", "partition": "order", "delay": 10}, {"payload": "d", "partition": "order", "delay": 5}]');
-- Equal times: the order of the pushes.
UPDATE queen.scheduled s SET deliver_at = m.deliver_at + payload::text::int % 3 * interval '1 s'
  FROM (SELECT min(deliver_at) AS deliver_at FROM queen.scheduled WHERE payload::text ~ '^\d$') m WHERE payload::text ~ '^\d$';
SELECT pg_temp.later('2 hours');
SELECT queen.deliver_scheduled('later');
SELECT partition, string_agg(payload #>> '{}', ' ' ORDER BY message_offset) FROM queen.pop('later', 'order', auto_ack => true) WHERE partition LIKE 'order%' GROUP BY 1 ORDER BY 1;
-- A limit takes the oldest first.
SELECT count(*) FROM (SELECT queen.push('later', to_jsonb(n), 'limit', delay => '1 h') FROM generate_series(1, 5) n) x;
SELECT pg_temp.later('2 hours');
SELECT queen.deliver_scheduled('later', 2), queen.deliver_scheduled('later', max_messages => 2);
SELECT next_offset FROM queen.partitions WHERE queue = 'later' AND partition = 'limit';
SELECT queen.deliver_scheduled('later'), queen.deliver_scheduled('later');
SELECT string_agg(payload::text, ' ' ORDER BY message_offset) FROM queen.pop('later', partition => 'limit', auto_ack => true);
-- More than one step moves: 1,100 messages of 1,100 partitions, then of one.
SELECT count(*) FROM queen.push_items('later', (SELECT jsonb_agg(jsonb_build_object('payload', n, 'partition', 'many ' || n, 'delay', '1 h')) FROM generate_series(1, 1100) n));
SELECT count(*) FROM queen.push_items('later', (SELECT jsonb_agg(jsonb_build_object('payload', n, 'partition', 'long', 'delay', '1 h')) FROM generate_series(1, 1100) n));
SELECT pg_temp.later('2 hours');
SELECT queen.deliver_scheduled('later') AS as_many_as_partition_locks;
DO $$BEGIN WHILE queen.deliver_scheduled('later') > 0 LOOP COMMIT; END LOOP; END $$;
SELECT count(*) FROM queen.scheduled;
SELECT count(*), count(DISTINCT partition) FROM queen.pop('later', 'many', batch => 10000, max_partitions => 10000, auto_ack => true) WHERE partition LIKE 'many %';
SELECT bool_and(payload::text::int = message_offset + 1), count(*) FROM queen.pop('later', 'long', batch => 10000, partition => 'long', auto_ack => true);
--
-- push_items
--
SELECT item, partition, message_offset, status, scheduled_id IS NOT NULL AS scheduled FROM queen.push_items('later', '[
	{"payload": 1, "partition": "items"}, {"payload": 2, "partition": "items", "delay": "1 hour 30 minutes", "headers": {"h": 1}}, {"payload": 3, "partition": "items", "delay": 2.25},
	{"payload": 4, "partition": "items", "delay": null}, {"payload": 5, "partition": "items", "delay": 0}, {"payload": 6, "partition": "items", "deliver_at": "2000-01-01"},
	{"payload": 7, "partition": "items", "deliver_at": null, "delay": 1e1}]');
SELECT payload, wait, headers FROM pg_temp.waits();
SELECT status FROM queen.push_items('later', jsonb_build_array(jsonb_build_object('payload', 8, 'partition', 'items', 'deliver_at', now() + interval '1 day')));
SELECT payload FROM queen.scheduled_messages WHERE deliver_at > now() + interval '23 hours';
SELECT string_agg(payload::text, ' ' ORDER BY message_offset) FROM queen.pop('later', partition => 'items', auto_ack => true);
CREATE FUNCTION pg_temp.item(keys text) RETURNS text LANGUAGE sql AS $$
	SELECT pg_temp.fails(format('SELECT queen.push_items(''later'', %L)', '[{"payload": 1, "partition": "items", ' || keys || '}]'))
$$;
SELECT pg_temp.item('"delay": -1');
SELECT pg_temp.item('"delay": "-1 s"');
SELECT pg_temp.item('"delay": "367 days"');
SELECT pg_temp.item('"delay": "soon"');
SELECT pg_temp.item('"delay": true');
SELECT pg_temp.item('"delay": []');
SELECT pg_temp.item('"delay": 1e300');
SELECT pg_temp.item('"deliver_at": "tomorrow or so"');
SELECT pg_temp.item('"deliver_at": "infinity"');
SELECT pg_temp.item('"deliver_at": 5');
SELECT pg_temp.item('"deliver_at": "2200-01-01"');
SELECT pg_temp.item('"delay": 1, "deliver_at": "2000-01-01"');
SELECT pg_temp.item('"delay": 1, "delay": 1');
SELECT pg_temp.fails($$SELECT queen.push('later', '1', delay => '-1 s')$$);
SELECT pg_temp.fails($$SELECT queen.push('later', '1', delay => '367 days')$$);
SELECT count(*) FROM queen.scheduled;
DELETE FROM queen.scheduled;
--
-- cancel_scheduled, reschedule
--
SELECT scheduled_id AS id FROM queen.push('later', '"back"', 'back', delay => '1 hour') \gset
SELECT queen.cancel_scheduled(:id);
SELECT queen.cancel_scheduled(:id);
SELECT queen.reschedule(:id, '1 h') IS NULL AS gone;
SELECT queen.cancel_scheduled(-1), queen.cancel_scheduled(9223372036854775807);
SELECT scheduled_id AS id FROM queen.push('later', '"moved"', 'back', delay => '1 hour') \gset
SELECT date_trunc('minute', queen.reschedule(:id, delay => '3 hours') - now() + interval '1 s');
SELECT wait FROM pg_temp.waits();
BEGIN;
SELECT queen.reschedule(:id, deliver_at => now() + interval '1 day') = now() + interval '1 day' AS to_the_microsecond;
COMMIT;
-- A time that is past is now; then it is due, in order after what was due before.
SELECT status FROM queen.push('later', '"before"', 'back', delay => '1 hour');
SELECT pg_temp.later('2 hours');
SELECT queen.reschedule(:id, deliver_at => '2000-01-01') >= now() AS now_at_the_earliest;
SELECT message_offset, payload FROM queen.pop('later', partition => 'back', auto_ack => true);
SELECT queen.cancel_scheduled(:id) AS moved_meanwhile, queen.reschedule(:id, '1 h') IS NULL AS moved_too;
SELECT pg_temp.fails('SELECT queen.cancel_scheduled(NULL)');
SELECT pg_temp.fails('SELECT queen.reschedule(NULL, ''1 h'')');
SELECT pg_temp.fails('SELECT queen.reschedule(1)');
SELECT pg_temp.fails('SELECT queen.reschedule(1, NULL, NULL)');
SELECT pg_temp.fails('SELECT queen.reschedule(1, ''1 h'', now())');
SELECT pg_temp.fails('SELECT queen.reschedule(1, ''-1 s'')');
SELECT pg_temp.fails('SELECT queen.reschedule(1, deliver_at => ''infinity'')');
SELECT pg_temp.fails('SELECT queen.deliver_scheduled(NULL)');
SELECT pg_temp.fails('SELECT queen.deliver_scheduled(''none'')');
SELECT pg_temp.fails('SELECT queen.deliver_scheduled(''later'', 0)');
SELECT pg_temp.fails('SELECT queen.deliver_scheduled(''later'', NULL)');
--
-- Rollback, savepoint: what was moved or scheduled in vain is as it was
--
SELECT status FROM queen.push('later', '"kept"', 'undo', delay => '1 h');
SELECT pg_temp.later('2 h');
BEGIN;
SELECT count(*) FROM queen.pop('later', partition => 'undo', auto_ack => true);
SAVEPOINT s;
SELECT status FROM queen.push('later', '"undone"', 'undo', delay => '1 h');
ROLLBACK TO s;
ROLLBACK;
SELECT partition, due FROM pg_temp.waits();
BEGIN;
SAVEPOINT s;
SELECT queen.deliver_scheduled('later');
ROLLBACK TO s;
-- The same session sees at once that it is to be moved again.
SELECT payload FROM queen.pop('later', partition => 'undo', auto_ack => true);
COMMIT;
SELECT count(*) FROM queen.scheduled;
--
-- max_backlog does not stop what was accepted; pause, purge and drop
--
SELECT queen.create_queue('full', max_backlog => 1);
SELECT status FROM queen.push('full', '1', 'p', delay => '1 h');
SELECT status FROM queen.push('full', '2', 'p', 'an id', delay => '1 h');
SELECT status FROM queen.push('full', '3', 'p');
SELECT pg_temp.fails('SELECT queen.push(''full'', ''4'', ''p'')');
SELECT pg_temp.later('2 h');
SELECT queen.pause_queue('full');
SELECT queen.deliver_scheduled('full');
SELECT queen.resume_queue('full');
SELECT string_agg(payload::text, ' ' ORDER BY message_offset) FROM queen.pop('full', auto_ack => true);
SELECT status FROM queen.push('full', '5', 'p', delay => '1 h');
SELECT pg_temp.fails('SELECT queen.drop_queue(''full'')');
SELECT queen.purge('full');
SELECT count(*) FROM queen.scheduled;
SELECT status FROM queen.push('full', '6', 'p', delay => '1 h');
SELECT queen.drop_queue('full', true);
SELECT count(*) FROM queen.scheduled;
-- A queue of another owner: neither shown nor touched.
CREATE ROLE queen_delay_stranger;
SELECT scheduled_id AS id FROM queen.push('later', '1', 'p', delay => '1 h') \gset
SET ROLE queen_delay_stranger;
SELECT count(*) FROM queen.scheduled_messages;
SELECT pg_temp.fails('SELECT queen.cancel_scheduled(' || :id || ')');
SELECT pg_temp.fails('SELECT queen.reschedule(' || :id || ', ''0'')');
SELECT pg_temp.fails('SELECT queen.deliver_scheduled(''later'')');
SELECT pg_temp.fails('SELECT FROM queen.scheduled');
RESET ROLE;
DROP ROLE queen_delay_stranger;
SELECT count(*) FROM queen.scheduled_messages;
--
-- Large bodies: a step stops at some megabytes, and takes one that is larger
--
SELECT count(*) FROM queen.push_items('later', (SELECT jsonb_agg(jsonb_build_object('payload', repeat('x', 3000000), 'partition', 'large', 'delay', 1)) FROM generate_series(1, 4)));
SELECT status FROM queen.push('later', to_jsonb(repeat('y', 9000000)), 'large', delay => '2 s');
SELECT pg_temp.later('1 h');
SELECT queen.deliver_scheduled('later'), queen.deliver_scheduled('later'), queen.deliver_scheduled('later');
SELECT message_offset, length(payload #>> '{}') FROM queen.pop('later', partition => 'large', auto_ack => true);
--
-- delivery_delay: a segment is delivered once it is that old, in order
--
SELECT queen.create_queue('aged', delivery_delay => '1 hour');
SELECT queen.push_batch('aged', '[0, 1]', 'p'), queen.push_batch('aged', '[2]', 'p'), queen.push_batch('aged', '[0]', 'q');
SELECT count(*) FROM queen.pop('aged');
SELECT count(*) FROM queen.pop('aged', partition => 'p');
SELECT consumer_group, behind FROM queen.consumer_groups WHERE queue = 'aged';
UPDATE queen.segment s SET created_at = s.created_at - interval '1 hour' FROM queen.partitions p WHERE p.partition_id = s.partition_id AND p.queue = 'aged' AND p.partition = 'p' AND s.base_offset = 0;
-- What is changed by hand is not told to others; a change of the queue is.
SELECT queen.alter_queue('aged', delivery_delay => '1 hour') \g /dev/null
SELECT partition, message_offset, delivery FROM queen.pop('aged', auto_ack => true);
SELECT count(*) FROM queen.pop('aged', auto_ack => true);
SELECT partition, committed, behind FROM queen.cursors WHERE queue = 'aged' ORDER BY 1;
-- The middle of a lease is not young again: what was delivered may be delivered again.
SELECT lease FROM queen.pop('aged', 'again', batch => 1) \gset
SELECT queen.nack(:'lease', delay => '0');
SELECT partition, message_offset, delivery FROM queen.pop('aged', 'again');
SELECT partition, message_offset FROM queen.pop('aged', 'timed', subscription_from => now() - interval '30 min');
SELECT queen.alter_queue('aged', delivery_delay => '0');
SELECT partition, message_offset FROM queen.pop('aged', 'timed') ORDER BY 1, 2;
SELECT partition, message_offset FROM queen.pop('aged', auto_ack => true) ORDER BY 1, 2;
--
-- What is remembered of a delayed message keeps its partition, empty as it is
--
SELECT queen.create_queue('idle', drop_idle_partitions => '1 day');
SELECT status FROM queen.push('idle', '1', 'new', 'id', delay => '1 hour');
UPDATE queen.partition SET oldest_at = 'infinity' WHERE name = 'new';
SELECT step, done FROM queen.maintain() WHERE step = 'idle partitions';
SELECT status FROM queen.push('idle', '1', 'new', 'id');
SELECT queen.alter_queue('idle', dedup_window => '0');
SELECT step, done FROM queen.maintain() WHERE step = 'idle partitions';
SELECT count(*) FROM queen.partition WHERE name = 'new';
--
-- One delayed item among very many partitions takes no lock of each
--
SELECT queen.create_queue('wide');
SELECT count(*) FROM queen.push_items('wide', (SELECT jsonb_agg(jsonb_build_object('payload', n, 'partition', n::text)) FROM generate_series(1, 200) n));
BEGIN;
SELECT status, count(*) FROM queen.push_items('wide', (SELECT jsonb_agg(jsonb_build_object('payload', n, 'partition', n::text)
	|| CASE WHEN n = 1 THEN '{"delay": "1 hour"}' ELSE '{}' END::jsonb) FROM generate_series(1, 200) n)) GROUP BY 1 ORDER BY 1;
SELECT count(*) < 20 AS few_locks FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid();
ROLLBACK;
-- A wait moves what is due, also what is stored out of line.
SELECT queen.create_queue('big');
SELECT string_agg(md5(n::text), '') AS text FROM generate_series(1, 1000) AS n \gset
SELECT status FROM queen.push('big', to_json(:'text'::text), delay => '1 ms');
CALL queen.wait('big', 'g', '20 s');
SELECT octet_length(payload #>> '{}') FROM queen.pop('big', 'g', auto_ack => true);
SELECT status FROM queen.push('big', to_json(:'text'::text), delay => '1 ms');
CALL queen.wait('big', 'g', '20 s');
SELECT octet_length(payload #>> '{}') FROM queen.pop('big', 'g', auto_ack => true);
-- So does a pop that waits. Both know when that is, though the worker is stopped.
SELECT status FROM queen.push('big', '1', delay => '50 ms');
SELECT payload FROM queen.pop('big', 'g', wait => '20 s', auto_ack => true);
SELECT status FROM queen.push('big', '2', delay => '50 ms');
CALL queen.wait('big', 'g', '20 s');
SELECT payload FROM queen.pop('big', 'g', auto_ack => true);
-- A message is there, whoever writes to the table.
\set VERBOSITY terse
UPDATE queen.scheduled SET payload = NULL;
\set VERBOSITY default
SELECT count(queen.drop_queue(queue, true)) FROM queen.queues;
SELECT (SELECT count(*) FROM queen.scheduled) AS scheduled, (SELECT count(*) FROM queen.dedup) AS dedup, (SELECT count(*) FROM queen.dedup_run) AS runs, (SELECT count(*) FROM queen.dedup_due) AS due;
SELECT queen.worker_start() \g /dev/null
