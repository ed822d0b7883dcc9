-- seek: targets and their edges, five effects, what it leaves alone, dry run, undo, history, refusals, cost.
\set QUIET on
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS queen;
SET timezone = 'UTC';
-- A seek without the id that it gives; args is what stands after queue and group.
CREATE FUNCTION pg_temp.go(queue text, consumer_group text, args text, OUT partition text, OUT old_committed bigint,
	OUT new_committed bigint, OUT messages bigint, OUT broken boolean, OUT lease_left interval, OUT has_id boolean)
RETURNS SETOF record LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format('SELECT partition, old_committed, new_committed, messages, broken_lease IS NOT NULL,'
		' date_trunc(''hour'', lease_until - clock_timestamp() + ''1 min''), seek_id > 0 FROM queen.seek(%L, %L, %s) ORDER BY 1', queue, consumer_group, args);
END $$;
-- What is delivered next: "p 3:1" is offset 3 of partition p at its first delivery. Nothing is kept of it.
CREATE FUNCTION pg_temp.next(queue text, consumer_group text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
BEGIN
	SELECT string_agg(partition || ' ' || o, ', ' ORDER BY partition) INTO answer
	  FROM (SELECT partition, (array_agg(message_offset || ':' || delivery ORDER BY message_offset))[1] AS o
			  FROM queen.pop(queue, consumer_group, 10000) GROUP BY partition) p;
	RAISE EXCEPTION USING ERRCODE = 'TEST0';
EXCEPTION WHEN SQLSTATE 'TEST0' THEN
	RETURN answer;
END $$;
-- The error of a statement, its SQLSTATE first. What it changed is undone.
CREATE FUNCTION pg_temp.fails(command text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	why text;
BEGIN
	EXECUTE command;
	RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS why = PG_EXCEPTION_DETAIL;
	RETURN regexp_replace(SQLSTATE || ': ' || SQLERRM || coalesce(' (' || nullif(why, '') || ')', ''),
						  '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?<=seek )\d+', 'ID', 'g');
END $$;
CREATE FUNCTION pg_temp.fill(queue text, messages int, partition text DEFAULT NULL) RETURNS void LANGUAGE sql AS $$
	SELECT queen.push_batch($1, jsonb_agg(jsonb_build_object('n', n) ORDER BY n), $3) FROM generate_series(0, $2 - 1) n
$$;
-- What every holder's call answers to a lease.
CREATE FUNCTION pg_temp.refused(lease uuid, an_offset bigint, OUT command text, OUT answer text) RETURNS SETOF record LANGUAGE sql AS $$
	SELECT c, left(pg_temp.fails(format(c, lease, an_offset)), 22) FROM unnest(array[
		'SELECT queen.ack(%L)', 'SELECT queen.ack(%L, %s)', 'SELECT queen.ack_messages(%L, array[%s])',
		'SELECT queen.nack(%L)', 'SELECT queen.nack(%L, %s, complete_before => true)', 'SELECT queen.reject(%L)',
		'SELECT queen.release(%L)', 'SELECT queen.renew(%L, ''1 day'')']) c
$$;
RESET client_min_messages;

--
-- A timestamp lands on a segment
--
SELECT queen.create_queue('time');
SELECT pg_temp.fill('time', 3, 'p') FROM generate_series(1, 6);
-- Segments at 0, 3, 6, 9, 12, 15; three of them have the same created_at.
UPDATE queen.segment s SET created_at = t.at::timestamptz
  FROM queen.partitions p, (VALUES (0, '2020-01-01 10:00'), (3, '2020-01-01 11:00'), (6, '2020-01-01 12:00'),
	(9, '2020-01-01 12:00'), (12, '2020-01-01 12:00'), (15, '2020-01-01 13:00')) t(base, at)
 WHERE p.queue = 'time' AND s.partition_id = p.partition_id AND s.base_offset = t.base;
SELECT t AS "to_timestamp", g.new_committed, pg_temp.next('time', 'g')
  FROM unnest(array['2019-12-31', '2020-01-01 09:59:59.999999', '2020-01-01 10:00', '2020-01-01 10:00:00.000001',
	'2020-01-01 10:59:59.999999', '2020-01-01 11:00', '2020-01-01 11:00:00.000001', '2020-01-01 12:00',
	'2020-01-01 12:00:00.000001', '2020-01-01 13:00', '2020-01-01 13:00:00.000001', 'infinity']::timestamptz[]) t,
	LATERAL pg_temp.go('time', 'g', format('to_timestamp => %L', t)) g;
-- Every message reports its segment's time, and that is where a seek by it goes.
SELECT * FROM pg_temp.go('time', 'g', 'to_beginning => true');
SELECT message_offset, created_at FROM queen.pop('time', 'g', auto_ack => true) WHERE message_offset IN (5, 6, 8, 11, 14, 15);
SELECT * FROM pg_temp.go('time', 'g', 'partition => ''p'', to_timestamp => ''2020-01-01 12:00''');
SELECT message_offset, created_at FROM queen.pop('time', 'g', 1, auto_ack => true);
-- Relative to now.
SELECT pg_temp.fill('time', 2, 'p');
SELECT new_committed, messages FROM pg_temp.go('time', 'g', 'to_timestamp => now() - interval ''2 hours''');
-- Older than all kept means the oldest kept, whatever was removed.
SELECT queen.purge('time');
SELECT pg_temp.fill('time', 2, 'p');
SELECT new_committed, pg_temp.next('time', 'g') FROM pg_temp.go('time', 'g', 'to_timestamp => ''2000-01-01''');

--
-- The clock set back between two pushes: time in the partition does not go back
--
SELECT queen.create_queue('clock');
SELECT pg_temp.fill('clock', 1, 'p');
UPDATE queen.segment SET created_at = '2100-01-01 00:00'
 WHERE partition_id = (SELECT partition_id FROM queen.partitions WHERE queue = 'clock');
SELECT pg_temp.fill('clock', 1, 'p') FROM generate_series(1, 3);
SELECT DISTINCT created_at FROM queen.pop('clock', 'look');
SELECT t AS "to_timestamp", g.new_committed FROM unnest(array['2099-12-31', '2100-01-01', '2100-01-01 00:00:00.000001']::timestamptz[]) t,
	LATERAL pg_temp.go('clock', 'g', format('to_timestamp => %L', t)) g;
-- Not after everything was removed either.
SELECT queen.purge('clock');
SELECT pg_temp.fill('clock', 1, 'p');
SELECT message_offset, created_at FROM queen.pop('clock', 'h');
SELECT queen.drop_queue('clock', true);

--
-- Beginning, end, offset, by; of all partitions and of one
--
SELECT queen.create_queue('q', lease => '3 hours', retry_delay => '1 hour', retry_limit => 5);
SELECT pg_temp.fill('q', 10, 'a'), pg_temp.fill('q', 10, 'a'), pg_temp.fill('q', 10, 'b');
-- The group never popped: it is registered, and its cursors are made.
SELECT * FROM pg_temp.go('q', 'g', 'to_end => true');
SELECT subscription_mode, behind FROM queen.consumer_groups WHERE queue = 'q' AND consumer_group = 'g';
SELECT pg_temp.next('q', 'g');
SELECT * FROM pg_temp.go('q', 'g', 'to_beginning => true');
SELECT pg_temp.next('q', 'g');
-- A partition and no target means its end; the other is not touched.
SELECT * FROM pg_temp.go('q', 'g', 'partition => ''a''');
SELECT pg_temp.next('q', 'g');
SELECT * FROM pg_temp.go('q', 'g', 'partition => ''a'', to_beginning => true');
SELECT * FROM pg_temp.go('q', 'g', 'partition => ''b'', to_end => true');
SELECT pg_temp.next('q', 'g');
-- to_offset is inclusive: it is delivered next, and those after it. The last one + 1 is the end.
SELECT o AS to_offset, g.old_committed, g.new_committed, g.messages, pg_temp.next('q', 'g')
  FROM unnest(array[19, 0, 10, 9, 20]) o, LATERAL pg_temp.go('q', 'g', format('partition => ''a'', to_offset => %s', o)) g;
SELECT pg_temp.fill('q', 1, 'a');
SELECT pg_temp.next('q', 'g');
-- A position that the log does not hold moves nothing.
SELECT pg_temp.fails(format('SELECT queen.seek(''q'', ''g'', partition => ''a'', to_offset => %s)', o)) FROM unnest(array[22, -1, 9223372036854775807]) o;
SELECT pg_temp.next('q', 'g');
-- by: messages, forward and back, and no further than the log goes.
SELECT by, g.* FROM unnest(array[-5, -1, 3, 0, -1000, 1000, -9223372036854775807, 9223372036854775807, -9223372036854775807]) by,
	LATERAL pg_temp.go('q', 'g', format('partition => ''a'', by => %s', by)) g;
SELECT * FROM pg_temp.go('q', 'g', 'by => 15');
SELECT * FROM pg_temp.go('q', 'g', 'by => -4');
SELECT pg_temp.next('q', 'g');
-- A position of a delivery takes the group back to it.
SELECT partition AS p, message_offset AS o, payload FROM queen.pop('q', 'h', partition => 'b', batch => 5) ORDER BY 2 DESC LIMIT 1 \gset
SELECT * FROM pg_temp.go('q', 'h', format('partition => %L, to_offset => %L', :'p', :'o'));
SELECT message_offset, delivery, payload::text = :'payload' AS same FROM queen.pop('q', 'h', 1, partition => 'b');

--
-- Partitions made later start from the seek's target
--
SELECT queen.create_queue('later');
SELECT pg_temp.fill('later', 2, 'a');
SELECT count(*) FROM pg_temp.go('later', 'end', 'to_end => true');
SELECT count(*) FROM pg_temp.go('later', 'never ends', 'to_timestamp => ''infinity''');
SELECT count(*) FROM pg_temp.go('later', 'beginning', 'to_beginning => true');
SELECT count(*) FROM pg_temp.go('later', 'noon', 'to_timestamp => ''2020-01-01 12:00''');
SELECT count(*) FROM pg_temp.go('later', 'offset', 'partition => ''a'', to_offset => 1');
SELECT queen.subscribe('later', 'subscribed', 'timestamp', '2020-01-01 13:00');
SELECT count(*) FROM pg_temp.go('later', 'subscribed', 'to_beginning => true');
SELECT pg_temp.fill('later', 2, 'b') FROM generate_series(1, 3);
UPDATE queen.segment s SET created_at = '2020-01-01 11:00'::timestamptz + s.base_offset / 2 * interval '1 hour'
  FROM queen.partitions p WHERE p.queue = 'later' AND p.partition = 'b' AND s.partition_id = p.partition_id;
SELECT consumer_group, subscription_mode, subscription_from, pg_temp.next('later', consumer_group)
  FROM queen.consumer_groups WHERE queue = 'later' ORDER BY 1;

--
-- Five effects
--
SELECT queen.create_queue('five', lease => '3 hours', retry_delay => '1 hour', retry_limit => 5);
SELECT pg_temp.fill('five', 10, 'a'), pg_temp.fill('five', 10, 'b'), pg_temp.fill('five', 10, 'c');
-- a: failed and held back; b: acknowledged out of order, then leased; c: never popped.
SELECT DISTINCT queen.nack(lease, 2, complete_before => true) FROM queen.pop('five', 'g', partition => 'a') WHERE message_offset = 0;
SELECT queen.ack_messages(lease, array[1, 4, 5]) FROM queen.pop('five', 'g', partition => 'b') LIMIT 1;
SELECT queen.release(lease) FROM queen.leases WHERE queue = 'five';
SELECT lease AS l FROM queen.pop('five', 'g', partition => 'b', batch => 4) LIMIT 1 \gset
SELECT partition, committed, acked, failures, not_before IS NOT NULL AS held, deliveries, has_lease FROM queen.cursors WHERE queue = 'five' ORDER BY 1;
SELECT pg_temp.next('five', 'g');
-- The lease that is broken is told. In b committed stands still, but three messages had been done ahead: they come again.
SELECT * FROM pg_temp.go('five', 'g', 'to_beginning => true');
SELECT partition, committed, acked, failures, not_before IS NOT NULL AS held, deliveries, has_lease, behind FROM queen.cursors WHERE queue = 'five' ORDER BY 1;
SELECT pg_temp.next('five', 'g');
-- The batch that was in flight is abandoned, whatever its holder calls.
SELECT * FROM pg_temp.refused(:'l', 2);
SELECT state FROM queen.ack_leases(array[:'l']::uuid[]);
SELECT pg_temp.fails(format('SELECT FROM queen.pop(''five'', ''g'', ack => array[%L]::uuid[], strict_ack => true)', :'l'));
SELECT partition, committed, acked, failures, deliveries, has_lease FROM queen.cursors WHERE queue = 'five' AND (committed <> -1 OR has_lease);
-- Nor by a lease that has the same place and another nonce, nor when the partition is leased anew.
SELECT lease AS l2 FROM queen.pop('five', 'g', partition => 'b', batch => 4) LIMIT 1 \gset
SELECT answer, count(*) FROM pg_temp.refused(:'l', 2) GROUP BY 1;
SELECT queen.ack(:'l2');
-- The second ack of a lease that was completed is an error, too, once it was sought over.
SELECT queen.ack(:'l2');
SELECT * FROM pg_temp.go('five', 'g', 'partition => ''b'', to_offset => 1');
SELECT answer, count(*) FROM pg_temp.refused(:'l2', 2) GROUP BY 1;
-- An expired lease that nobody took is broken, too.
SELECT lease AS l FROM queen.pop('five', 'g', partition => 'c', lease_time => '1 us') LIMIT 1 \gset
SELECT partition, broken, messages FROM pg_temp.go('five', 'g', 'partition => ''c'', to_offset => 0');
SELECT answer, count(*) FROM pg_temp.refused(:'l', 2) GROUP BY 1;
-- Sought to where it stands already: the same.
SELECT lease AS l FROM queen.pop('five', 'g', partition => 'c') LIMIT 1 \gset
SELECT partition, new_committed, messages, broken FROM pg_temp.go('five', 'g', 'partition => ''c'', by => 0');
SELECT answer, count(*) FROM pg_temp.refused(:'l', 2) GROUP BY 1;

--
-- Left alone: other groups, dead letters, transaction ids, bodies, headers
--
SELECT queen.create_queue('alone', retry_delay => '0', retry_limit => 0);
SELECT FROM queen.push('alone', '{"k" : 1}', 'p', transaction_id => 'order 1', headers => '{"retry-count": 2}');
SELECT FROM queen.push('alone', '\x00ff'::bytea, 'p');
SELECT pg_temp.fill('alone', 2, 'p');
SELECT lease AS other FROM queen.pop('alone', 'other', batch => 3) LIMIT 1 \gset
SELECT DISTINCT queen.nack(lease, complete_before => true, at_offset => 2, error => 'no') FROM queen.pop('alone', 'g', batch => 3) WHERE message_offset = 0;
CREATE TEMP TABLE first AS SELECT message_offset, payload::text, body, headers, transaction_id, created_at FROM queen.pop('alone', 'first', auto_ack => true);
CREATE TEMP TABLE before AS
	SELECT 'cursor' AS kind, c.*::text FROM queen.cursor c JOIN queen.consumer_group USING (group_id) WHERE name <> 'g'
	UNION ALL SELECT 'dead letter', d.*::text FROM queen.dead_letter d UNION ALL SELECT 'segment', s.*::text FROM queen.segment s;
SELECT * FROM pg_temp.go('alone', 'g', 'to_beginning => true');
SELECT count(*) FROM (
	(SELECT * FROM before EXCEPT ALL
		(SELECT 'cursor' AS kind, c.*::text FROM queen.cursor c JOIN queen.consumer_group USING (group_id) WHERE name <> 'g'
		 UNION ALL SELECT 'dead letter', d.*::text FROM queen.dead_letter d UNION ALL SELECT 'segment', s.*::text FROM queen.segment s))) changed;
-- delivery starts over; the one that became a dead letter is delivered again as well, and its dead letter stays.
SELECT message_offset, p.payload, p.body, p.headers, p.delivery, p.transaction_id = f.transaction_id AND p.created_at = f.created_at AS same
  FROM queen.pop('alone', 'g') p JOIN first f USING (message_offset) WHERE f.payload IS NOT DISTINCT FROM p.payload::text
   AND f.body IS NOT DISTINCT FROM p.body AND f.headers IS NOT DISTINCT FROM p.headers ORDER BY 1;
SELECT message_offset, error FROM queen.dead_letters WHERE queue = 'alone';
SELECT queen.ack(:'other');
-- The failure count starts over with the delivery.
SELECT queen.alter_queue('alone', retry_limit => 1);
SELECT count(*) FROM pg_temp.go('alone', 'g', 'to_offset => 3, partition => ''p''');
SELECT queen.nack(lease) FROM queen.pop('alone', 'g');
SELECT count(*) FROM pg_temp.go('alone', 'g', 'to_offset => 3, partition => ''p''');
SELECT queen.nack(lease) FROM queen.pop('alone', 'g');
SELECT delivery, queen.nack(lease) FROM queen.pop('alone', 'g');

--
-- In the transaction of a batch: ack, then seek; an ack after it is refused
--
SELECT queen.create_queue('bill');
SELECT pg_temp.fill('bill', 5, 'p'), pg_temp.fill('bill', 5, 'o');
BEGIN;
SELECT lease AS l FROM queen.pop('bill', 'g', 2, partition => 'p') LIMIT 1 \gset
SELECT queen.ack(:'l');
SELECT * FROM pg_temp.go('bill', 'g', 'partition => ''p'', to_end => true');
SELECT answer, count(*) FROM pg_temp.refused(:'l', 1) GROUP BY 1;
COMMIT;
SELECT pg_temp.next('bill', 'g');
BEGIN;
SELECT lease AS l FROM queen.pop('bill', 'g', 2, partition => 'o') LIMIT 1 \gset
SELECT queen.ack(:'l', 0);
SELECT * FROM pg_temp.go('bill', 'g', 'to_end => true');
SELECT answer, count(*) FROM pg_temp.refused(:'l', 1) GROUP BY 1;
COMMIT;
SELECT pg_temp.next('bill', 'g');
-- A seek that is rolled back never was: the lease is good, the history is empty.
SELECT * FROM pg_temp.go('bill', 'g', 'partition => ''o'', to_offset => 3');
SELECT lease AS l FROM queen.pop('bill', 'g', 1) \gset
SELECT count(*) AS history FROM queen.seek_history WHERE queue = 'bill' \gset
BEGIN;
SELECT count(*) FROM pg_temp.go('bill', 'g', 'to_beginning => true');
SELECT count(*) FROM pg_temp.go('bill', 'new group', 'to_beginning => true');
SAVEPOINT s;
SELECT count(*) FROM pg_temp.go('bill', 'g', 'to_end => true');
ROLLBACK TO s;
SELECT pg_temp.next('bill', 'g');
ROLLBACK;
SELECT queen.ack(:'l');
SELECT committed FROM queen.cursors WHERE queue = 'bill' AND partition = 'o';
SELECT count(*) = :history AS same FROM queen.seek_history WHERE queue = 'bill';
SELECT count(*) FROM queen.consumer_groups WHERE queue = 'bill';

--
-- Purge, then seek
--
SELECT queen.purge('bill');
SELECT * FROM pg_temp.go('bill', 'g', 'to_beginning => true');
SELECT * FROM pg_temp.go('bill', 'h', 'to_timestamp => ''2000-01-01''');
SELECT pg_temp.fails('SELECT queen.seek(''bill'', ''g'', partition => ''p'', to_offset => 4)');
SELECT * FROM pg_temp.go('bill', 'g', 'partition => ''p'', to_offset => 5');
SELECT pg_temp.fails('SELECT queen.seek(''bill'', ''g'', partition => ''p'', to_offset => 6)');
SELECT * FROM pg_temp.go('bill', 'g', 'by => -100');
SELECT pg_temp.fill('bill', 2, 'p');
SELECT pg_temp.next('bill', 'g'), pg_temp.next('bill', 'h');

--
-- dry_run: the same rows, nothing written
--
SELECT lease AS l FROM queen.pop('five', 'g', partition => 'c') LIMIT 1 \gset
CREATE TEMP TABLE stood AS SELECT c.*::text FROM queen.cursor c UNION ALL SELECT s.*::text FROM queen.seek_log s
	UNION ALL SELECT s.*::text FROM queen.seek_move s UNION ALL SELECT g.*::text FROM queen.consumer_group g;
BEGIN READ ONLY;
SELECT * FROM pg_temp.go('five', 'g', 'to_beginning => true, dry_run => true');
SELECT * FROM pg_temp.go('five', 'g', 'to_end => true, dry_run => true');
SELECT * FROM pg_temp.go('five', 'g', 'by => -2, dry_run => true');
SELECT * FROM pg_temp.go('five', 'g', 'partition => ''b'', to_offset => 7, dry_run => true');
SELECT * FROM pg_temp.go('five', 'g', 'to_timestamp => ''2000-01-01'', dry_run => true');
-- A group that is not there yet; it is not made.
SELECT * FROM pg_temp.go('five', 'not there', 'to_end => true, dry_run => true');
SELECT pg_temp.fails('SELECT queen.seek(''five'', ''g'', partition => ''b'', to_offset => 11, dry_run => true)');
SELECT pg_temp.fails('SELECT queen.seek(''five'', ''g'', partition => ''x'', dry_run => true)');
SELECT pg_temp.fails('SELECT queen.seek(''nowhere'', ''g'', to_end => true, dry_run => true)');
SELECT pg_temp.fails('SELECT queen.seek(''five'', ''g'', to_end => true)');
SELECT pg_temp.fails('SELECT queen.seek_undo(1)');
COMMIT;
SELECT count(*) FROM (SELECT c.*::text FROM queen.cursor c UNION ALL SELECT s.*::text FROM queen.seek_log s
	UNION ALL SELECT s.*::text FROM queen.seek_move s UNION ALL SELECT g.*::text FROM queen.consumer_group g EXCEPT ALL SELECT * FROM stood) changed;
-- What it answered is what a seek does.
SELECT count(*) FROM (SELECT * FROM pg_temp.go('five', 'g', 'to_end => true, dry_run => true') EXCEPT
	SELECT partition, old_committed, new_committed, messages, broken, lease_left, NULL FROM pg_temp.go('five', 'g', 'to_end => true')) different;

--
-- seek_undo and seek_history
--
SELECT queen.create_queue('undo', lease => '1 hour');
SELECT pg_temp.fill('undo', 10, 'a'), pg_temp.fill('undo', 10, 'b');
SELECT queen.ack_messages(lease, array[0, 1, 4, 5, 9]) FROM queen.pop('undo', 'g', partition => 'a') LIMIT 1;
SELECT count(*) FROM queen.pop('undo', 'g', 4, partition => 'b', auto_ack => true);
SELECT DISTINCT seek_id AS s1 FROM queen.seek('undo', 'g', to_end => true) \gset
SELECT * FROM queen.seek_undo(:s1) ORDER BY 1;
-- What was acknowledged out of order is put back, too; the lease is not.
SELECT partition, committed, acked, behind, has_lease FROM queen.cursors WHERE queue = 'undo' ORDER BY 1;
SELECT array_agg(message_offset) FROM queen.pop('undo', 'g', partition => 'a', auto_ack => true);
SELECT pg_temp.fails(format('SELECT queen.seek_undo(%s)', :s1)) AS twice;
SELECT pg_temp.fails(format('SELECT queen.seek_undo(%s, force => true)', :s1)) AS twice;
-- Where the group has moved since, it raises and changes nothing, in no partition.
SELECT DISTINCT seek_id AS s2 FROM queen.seek('undo', 'g', to_beginning => true) \gset
SELECT count(*) FROM queen.pop('undo', 'g', 3, partition => 'b', auto_ack => true);
SELECT pg_temp.fails(format('SELECT queen.seek_undo(%s)', :s2));
SELECT partition, committed FROM queen.cursors WHERE queue = 'undo' ORDER BY 1;
SELECT * FROM queen.seek_undo(:s2, force => true) ORDER BY 1;
SELECT partition, committed FROM queen.cursors WHERE queue = 'undo' ORDER BY 1;
-- A delivery is a move, though committed is where it was: leased, released, failed.
SELECT seek_id AS s3 FROM queen.seek('undo', 'g', partition => 'b', to_offset => 2) \gset
SELECT lease AS l FROM queen.pop('undo', 'g', 1, partition => 'b') \gset
SELECT pg_temp.fails(format('SELECT queen.seek_undo(%s)', :s3));
SELECT queen.release(:'l');
SELECT pg_temp.fails(format('SELECT queen.seek_undo(%s)', :s3));
SELECT * FROM queen.seek_undo(:s3, true);
-- force breaks the lease that runs.
SELECT seek_id AS s4 FROM queen.seek('undo', 'g', partition => 'b', to_offset => 2) \gset
SELECT lease AS l FROM queen.pop('undo', 'g', 1, partition => 'b') \gset
SELECT * FROM queen.seek_undo(:s4, true);
SELECT answer, count(*) FROM pg_temp.refused(:'l', 2) GROUP BY 1;
-- What was removed since is not put back.
SELECT DISTINCT seek_id AS s5 FROM queen.seek('undo', 'g', to_end => true) \gset
SELECT queen.purge('undo');
SELECT pg_temp.fill('undo', 2, 'a');
SELECT * FROM queen.seek_undo(:s5) ORDER BY 1;
-- The group that a seek made stays, at its start; one that was made anew is another.
SELECT DISTINCT seek_id AS s6 FROM queen.seek('undo', 'made', to_end => true) \gset
SELECT * FROM queen.seek_undo(:s6) ORDER BY 1;
SELECT pg_temp.next('undo', 'made');
SELECT DISTINCT seek_id AS s7 FROM queen.seek('undo', 'made', to_end => true) \gset
SELECT queen.unsubscribe('undo', 'made');
SELECT pg_temp.fails(format('SELECT queen.seek_undo(%s)', :s7));
SELECT queen.subscribe('undo', 'made');
SELECT pg_temp.fails(format('SELECT queen.seek_undo(%s)', :s7));
SELECT pg_temp.fails('SELECT queen.seek_undo(9223372036854775807)');
SELECT pg_temp.fails('SELECT queen.seek_undo(0)');
-- Two seeks are undone in the other order.
SELECT DISTINCT seek_id AS s8 FROM queen.seek('undo', 'g', to_end => true) \gset
SELECT DISTINCT seek_id AS s9 FROM queen.seek('undo', 'g', to_beginning => true) \gset
SELECT pg_temp.fails(format('SELECT queen.seek_undo(%s)', :s8));
SELECT count(*) FROM queen.seek_undo(:s9);
SELECT count(*) FROM queen.seek_undo(:s8);
SELECT consumer_group, target, moved_by, moved_at <= now() AS timed, partitions, again, skipped, undone_at IS NOT NULL AS undone
  FROM queen.seek_history WHERE queue = 'undo' ORDER BY seek_id;
SELECT target FROM queen.seek_history WHERE queue IN ('time', 'q', 'bill') GROUP BY 1 HAVING target NOT LIKE '%timestamp 20__-%' OR target LIKE '%2020%' ORDER BY target COLLATE "C";

--
-- Refusals
--
SELECT t, pg_temp.fails(format('SELECT queen.seek(''q'', ''g'', %s)', t)) FROM unnest(array[
	'partition => ''''', 'dry_run => true', 'to_end => false', 'to_end => false, to_beginning => false', 'to_timestamp => ''-infinity''',
	'to_end => true, to_beginning => true', 'to_end => true, to_timestamp => now()', 'to_beginning => true, to_timestamp => now()',
	'partition => ''a'', to_end => true, to_offset => 0', 'partition => ''a'', to_offset => 0, by => 1', 'to_beginning => true, by => 0',
	'to_timestamp => now(), by => 1', 'to_offset => 0', 'to_timestamp => NULL', 'to_end => NULL', 'to_beginning => NULL', 'partition => NULL',
	'partition => NULL, to_end => true', 'partition => ''a'', to_timestamp => NULL', 'partition => ''a'', to_offset => NULL', 'by => NULL',
	'to_end => true, by => NULL', 'to_end => true, dry_run => NULL', 'partition => ''nowhere''', 'partition => ''nowhere'', to_offset => 0',
	'partition => E''a\n''']) t;
SELECT queen.create_queue('empty');
SELECT t, pg_temp.fails(format('SELECT queen.seek(%s)', t)) FROM unnest(array[
	'NULL, ''g'', to_end => true', '''q'', NULL, to_end => true', ''''', ''g'', to_end => true', '''q'', '''', to_end => true',
	'''nowhere'', ''g'', to_end => true', '''nowhere'', ''g'', partition => ''a''', '''empty'', ''g'', to_end => true', '''empty'', ''g'', to_beginning => true',
	'''empty'', ''g'', by => 1', '''empty'', ''g'', to_timestamp => now()', '''empty'', ''g'', partition => ''a''', '''q'', ''g''']) t;
SELECT pg_temp.fails('SELECT queen.seek_undo(NULL)'), pg_temp.fails('SELECT queen.seek_undo(1, NULL)');
-- No refused seek left a group behind, or moved one.
SELECT count(*) FROM queen.consumer_groups WHERE queue = 'empty';
SELECT pg_temp.next('q', 'g');
-- A paused queue can be sought.
SELECT queen.pause_queue('q');
SELECT * FROM pg_temp.go('q', 'g', 'to_end => true');
SELECT queen.resume_queue('q');

-- Rights: the owner's, as for all verbs; the history shows the reader's own queues.
CREATE ROLE queen_seek_other;
SET ROLE queen_seek_other;
SELECT pg_temp.fails('SELECT queen.seek(''q'', ''g'', to_end => true)'), pg_temp.fails('SELECT queen.seek(''q'', ''g'', to_end => true, dry_run => true)');
SELECT pg_temp.fails(format('SELECT queen.seek_undo(%s, true)', :s4));
SELECT count(*) FROM queen.seek_history;
SELECT left(pg_temp.fails('SELECT FROM queen.' || t), 6) FROM unnest(array['seek_log', 'seek_move']) t;
RESET ROLE;
DROP ROLE queen_seek_other;

--
-- Cost: about 20 probes in a partition of 3,000 segments, and none that walks
--
SELECT queen.create_queue('long');
SELECT count(queen.push('long', '1', 'p')) FROM generate_series(1, 3000);
UPDATE queen.segment s SET created_at = '2020-01-01'::timestamptz + s.base_offset * interval '1 min'
  FROM queen.partitions p WHERE p.queue = 'long' AND s.partition_id = p.partition_id;
VACUUM queen.segment;
CREATE FUNCTION pg_temp.buffers(command text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) ' || command INTO plan;
	RETURN (plan->0->'Plan'->>'Shared Hit Blocks')::int + (plan->0->'Plan'->>'Shared Read Blocks')::int;
END $$;
SELECT new_committed FROM pg_temp.go('long', 'g', 'partition => ''p'', to_timestamp => ''2020-01-02 12:34:56''');
SELECT t, buffers BETWEEN 1 AND 300 AS few, CASE WHEN buffers > 300 THEN buffers END AS many
  FROM (SELECT t, pg_temp.buffers(format('SELECT * FROM queen.seek(''long'', ''g'', partition => ''p'', %s)', t)) AS buffers
		  FROM unnest(array['to_timestamp => ''2020-01-02 00:00:30''', 'to_timestamp => ''2000-01-01''', 'to_timestamp => ''2100-01-01''',
							'to_end => true', 'to_beginning => true', 'to_offset => 1234', 'by => 17', 'by => 17, dry_run => true']) t) c;
-- The search starts at the first kept segment, not at 0.
SELECT queen.purge('long');
SELECT count(queen.push('long', '1', 'p')) FROM generate_series(1, 10);
SELECT pg_temp.buffers('SELECT * FROM queen.seek(''long'', ''g'', to_timestamp => ''2000-01-01'')') < 150 AS few;

SELECT count(queen.drop_queue(queue, true)) FROM queen.queues;
SELECT (SELECT count(*) FROM queen.seek_log) + (SELECT count(*) FROM queen.seek_move) AS left_behind;
