-- pop: order, budgets, leases, auto_ack, ack in the same call, delivery counts, rollback, turns, locks.
\set QUIET on
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS queen;
-- One row a partition: "0-4:1 5-9:2" is offsets 0 to 4 at their first delivery, 5 to 9 at their second.
CREATE FUNCTION pg_temp.take(queue text, consumer_group text DEFAULT 'default', batch int DEFAULT 100,
	partition text DEFAULT NULL, lease_time interval DEFAULT NULL, auto_ack boolean DEFAULT false,
	max_partitions int DEFAULT 100, max_bytes bigint DEFAULT NULL, ack uuid[] DEFAULT NULL,
	strict_ack boolean DEFAULT false, OUT partition text, OUT messages text, OUT lease uuid)
RETURNS SETOF record LANGUAGE sql AS $$
	SELECT i.partition, string_agg(i.span, ' ' ORDER BY i.first), i.lease
	  FROM (SELECT m.partition, m.lease, min(m.message_offset) AS first,
				   format('%s-%s:%s', min(m.message_offset), max(m.message_offset), m.delivery) AS span
			  FROM (SELECT p.*, p.message_offset - row_number()
						   OVER (PARTITION BY p.partition, p.delivery ORDER BY p.message_offset) AS island
					  FROM queen.pop($1, $2, $3, partition => $4, lease_time => $5, auto_ack => $6,
									 max_partitions => $7, max_bytes => $8, ack => $9, strict_ack => $10) p) m
			 GROUP BY m.partition, m.lease, m.delivery, m.island) i
	 GROUP BY i.partition, i.lease ORDER BY i.partition
$$;
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
						  '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}', 'UUID', 'g');
END $$;
-- Pushes messages {"n": 0} and on.
CREATE FUNCTION pg_temp.fill(queue text, messages int, partition text DEFAULT NULL) RETURNS void LANGUAGE sql AS $$
	SELECT queen.push_batch($1, jsonb_agg(jsonb_build_object('n', n) ORDER BY n), $3) FROM generate_series(0, $2 - 1) n
$$;
RESET client_min_messages;
--
-- Order, columns, transaction ids
--
SELECT queen.create_queue('pop');
SELECT FROM queen.push('pop', '{"n": 0}', 'a', 'tx-0', '{"h": 1}');
SELECT FROM queen.push('pop', 'bytes'::bytea, 'a');
SELECT FROM queen.push_batch('pop', '[2, 3.0, "four"]', 'a');
SELECT partition, message_offset, payload, headers, body, delivery,
	   CASE transaction_id WHEN 'tx-0' THEN 'of the producer'
			WHEN (SELECT partition_id FROM queen.partitions WHERE queue = 'pop') || '-' || message_offset
			THEN 'derived' END AS transaction_id,
	   created_at <= clock_timestamp() AS created, created_at >= lag(created_at) OVER () AS time_goes_on,
	   lease IS NOT NULL AND lease = first_value(lease) OVER () AS one_lease
  FROM queen.pop('pop', lease_time => '1 microsecond');
-- The id that queen derives is the same at every delivery, and in every group.
CREATE TEMP TABLE ids AS SELECT message_offset, transaction_id, created_at FROM queen.pop('pop', lease_time => '1 microsecond');
SELECT count(*), bool_and(i.transaction_id = p.transaction_id AND i.created_at = p.created_at)
  FROM queen.pop('pop', lease_time => '1 microsecond') p JOIN ids i USING (message_offset);
SELECT count(*), bool_and(i.transaction_id = p.transaction_id AND i.created_at = p.created_at)
  FROM queen.pop('pop', 'another') p JOIN ids i USING (message_offset);

--
-- One live lease a partition and group; nothing there is an empty answer
--
SELECT count(*) FROM queen.pop('pop', lease_time => '1 hour');
SELECT count(*) FROM queen.pop('pop');
SELECT count(*) FROM queen.pop('pop', partition => 'a');
SELECT count(*) FROM queen.pop('pop', partition => 'not yet pushed to');
SELECT count(*) FROM queen.partitions WHERE queue = 'pop';
SELECT consumer_group, partition, first_offset, last_offset, messages, expired FROM queen.leases
 WHERE queue = 'pop' ORDER BY 1, 2;
SELECT queen.purge('pop');
SELECT count(*) FROM queen.pop('pop', 'third');

--
-- batch is a budget over all partitions; max_partitions, max_bytes
--
SELECT queen.create_queue('budget');
SELECT pg_temp.fill('budget', 10, name) FROM unnest(array['a', 'b', 'c', 'd']) name;
SELECT count(*) AS messages, count(DISTINCT lease) AS leases, count(DISTINCT partition) AS partitions
  FROM queen.pop('budget', 'g1', 25);
SELECT count(*) AS messages, count(DISTINCT lease) AS leases, count(DISTINCT partition) AS partitions
  FROM queen.pop('budget', 'g1', 25);
SELECT count(*) AS messages, count(DISTINCT partition) AS partitions
  FROM queen.pop('budget', 'g2', 1000, max_partitions => 3);
SELECT count(*) AS messages, count(DISTINCT partition) AS partitions
  FROM queen.pop('budget', 'g2', 1000, max_partitions => 3);
-- Inside a partition the rows come in the order of offsets, with no hole.
SELECT bool_and(message_offset = coalesce(before + 1, 0)) AS in_order, count(*)
  FROM (SELECT partition, message_offset,
			   lag(message_offset) OVER (PARTITION BY partition ORDER BY row) AS before
		  FROM queen.pop('budget', 'g3') WITH ORDINALITY AS p(partition, message_offset, c3, c4, c5, c6, c7, c8, c9, row)) o;
-- A body here is 8 bytes: five of them are 40.
SELECT messages FROM pg_temp.take('budget', 'g4', partition => 'a', max_bytes => 40);
SELECT messages FROM pg_temp.take('budget', 'g5', partition => 'a', max_bytes => 47);
SELECT messages FROM pg_temp.take('budget', 'g6', partition => 'a', max_bytes => 48);
SELECT sum(length(payload::text)) AS bytes, count(DISTINCT partition) AS partitions
  FROM queen.pop('budget', 'g7', max_bytes => 100);
-- The first message always comes, and then it alone.
SELECT messages FROM pg_temp.take('budget', 'g8', partition => 'a', max_bytes => 1);
-- A pinned partition gives its own messages only, one after the other.
SELECT partition, messages FROM pg_temp.take('budget', 'g9', 4, partition => 'c', auto_ack => true);
SELECT partition, messages FROM pg_temp.take('budget', 'g9', 4, partition => 'c', auto_ack => true);
SELECT partition, messages FROM pg_temp.take('budget', 'g9', 4, partition => 'c', auto_ack => true);
SELECT partition, messages FROM pg_temp.take('budget', 'g9', 4, partition => 'c', auto_ack => true);
SELECT partition, messages FROM pg_temp.take('budget', 'g9');
SELECT queen.drop_queue('budget', true);

--
-- auto_ack: no lease, and the cursor moves in the same transaction
--
SELECT queen.create_queue('auto');
SELECT pg_temp.fill('auto', 10);
BEGIN;
SELECT count(*), count(lease) AS leases, min(message_offset), max(message_offset) FROM queen.pop('auto', batch => 6, auto_ack => true);
SELECT committed, behind, has_lease FROM queen.cursors WHERE queue = 'auto';
SELECT messages FROM pg_temp.take('auto', batch => 2, auto_ack => true);
ROLLBACK;
-- The rollback gave all of it back, and took the new group away.
SELECT count(*) FROM queen.cursors WHERE queue = 'auto';
SELECT messages FROM pg_temp.take('auto', batch => 6, auto_ack => true);
SELECT committed, behind, has_lease, deliveries FROM queen.cursors WHERE queue = 'auto';
BEGIN;
SAVEPOINT s;
SELECT messages FROM pg_temp.take('auto', batch => 2, auto_ack => true);
ROLLBACK TO s;
SELECT messages FROM pg_temp.take('auto', batch => 2, auto_ack => true);
COMMIT;
-- With a lease before it, auto_ack counts on from that delivery.
SELECT messages FROM pg_temp.take('auto', lease_time => '1 microsecond');
SELECT messages FROM pg_temp.take('auto', auto_ack => true);
SELECT committed, behind, has_lease, deliveries FROM queen.cursors WHERE queue = 'auto';

--
-- ack => completes earlier leases in the same call
--
SELECT queen.create_queue('loop');
SELECT pg_temp.fill('loop', 10);
SELECT lease AS l1, messages FROM pg_temp.take('loop', batch => 3) \gset
\echo :messages
SELECT lease AS l2, messages FROM pg_temp.take('loop', batch => 3, ack => array[:'l1']::uuid[]) \gset
\echo :messages
SELECT :'l1' <> :'l2' AS another;
-- A lease that was completed already is no loss, and it may stand there twice.
SELECT lease AS l3, messages FROM pg_temp.take('loop', batch => 3, ack => array[:'l1', :'l2', :'l2']::uuid[], strict_ack => true) \gset
\echo :messages
SELECT committed, lease_start, lease_end, version FROM queen.cursors WHERE queue = 'loop';
-- Without anything new to hand out it is completed all the same.
SELECT messages FROM pg_temp.take('loop', batch => 3, partition => 'not there', ack => array[:'l3']::uuid[]);
SELECT committed, has_lease FROM queen.cursors WHERE queue = 'loop';
SELECT messages FROM pg_temp.take('loop', ack => array[]::uuid[], auto_ack => true);
-- A lost lease: a warning, and the others are completed. strict_ack raises and changes nothing.
SELECT pg_temp.fill('loop', 10, 'b');
SELECT lease AS l4 FROM pg_temp.take('loop', batch => 5, lease_time => '1 microsecond') \gset
SELECT lease AS l5, messages FROM pg_temp.take('loop', batch => 5, lease_time => '1 microsecond') \gset
\echo :messages
\set VERBOSITY sqlstate
SELECT messages FROM pg_temp.take('loop', strict_ack => true, ack => array[:'l5', :'l4']::uuid[]);
SELECT committed, lease = :'l5' AS still_leased FROM queen.cursors WHERE queue = 'loop' AND partition = 'b';
SELECT messages, lease AS l6 FROM pg_temp.take('loop', batch => 3, lease_time => '1 microsecond', ack => array[:'l5', :'l4']::uuid[]) \gset
\echo :messages
SELECT committed, lease = :'l6' AS leased FROM queen.cursors WHERE queue = 'loop' AND partition = 'b';
-- A lost lease of a partition that is free does not keep it from being taken.
SELECT messages, lease AS l7 FROM pg_temp.take('loop', batch => 3, ack => array[:'l4', gen_random_uuid()]::uuid[]) \gset
\echo :messages
\set VERBOSITY default
SELECT pg_temp.fails(format($$SELECT FROM queen.pop('loop', strict_ack => true, ack => array[%L]::uuid[])$$, :'l4'));
-- A lease of another queue, or of another group, is refused.
SELECT lease AS other_queue FROM pg_temp.take('auto', 'g') \gset
SELECT lease AS other_group FROM pg_temp.take('loop', 'g', partition => 'b') \gset
SELECT pg_temp.fails(format($$SELECT FROM queen.pop('loop', ack => array[%L]::uuid[])$$, :'other_queue'));
SELECT pg_temp.fails(format($$SELECT FROM queen.pop('loop', ack => array[%L, %L]::uuid[])$$, :'l7', :'other_group'));
SELECT committed, lease = :'l7' AS leased FROM queen.cursors WHERE queue = 'loop' AND partition = 'b' AND consumer_group = 'default';
SELECT count(*) FROM queen.leases WHERE lease IN (:'other_queue', :'other_group');
-- ack with auto_ack: the rest of the partition in one call.
SELECT messages FROM pg_temp.take('loop', ack => array[:'l7']::uuid[], auto_ack => true);
SELECT partition, committed, has_lease FROM queen.cursors WHERE queue = 'loop' AND consumer_group = 'default' ORDER BY 1;
-- Many leases in one call: each partition is taken again, one lease each.
SELECT queen.create_queue('many');
SELECT FROM queen.push_items('many', (SELECT jsonb_agg(jsonb_build_object('payload', n, 'partition', 'p' || n % 30)) FROM generate_series(1, 120) n));
SELECT array_agg(DISTINCT lease) AS leases, count(*), count(DISTINCT lease) FROM queen.pop('many', batch => 60) \gset
\echo :count
SELECT count(*) AS messages, count(DISTINCT partition) AS partitions, bool_and(lease <> ALL (:'leases'::uuid[])) AS new_leases
  FROM queen.pop('many', batch => 120, ack => :'leases');
SELECT sum(committed + 1) AS completed FROM queen.cursors WHERE queue = 'many';

--
-- Delivery counts
--
SELECT queen.create_queue('count');
SELECT pg_temp.fill('count', 15);
SELECT messages FROM pg_temp.take('count', batch => 10, lease_time => '1 microsecond');
SELECT messages, lease AS l FROM pg_temp.take('count', 'other', batch => 10, lease_time => '1 microsecond') \gset
\echo :messages
-- The issue's own case, in offsets from 0: 0 to 9, expired; 0 to 4, completed; 5 to 14.
SELECT messages, lease AS l FROM pg_temp.take('count', batch => 5) \gset
\echo :messages
SELECT queen.ack(:'l');
SELECT messages, lease AS l FROM pg_temp.take('count', batch => 10) \gset
\echo :messages
SELECT queen.ack(:'l');
-- Each group counts for itself; smaller and larger batches in turn.
SELECT messages FROM pg_temp.take('count', 'other', batch => 3, lease_time => '1 microsecond');
SELECT messages FROM pg_temp.take('count', 'other', batch => 12, lease_time => '1 microsecond');
SELECT messages FROM pg_temp.take('count', 'other', batch => 1, lease_time => '1 microsecond');
SELECT messages FROM pg_temp.take('count', 'other', batch => 15, lease_time => '1 microsecond');
SELECT deliveries FROM queen.cursors WHERE queue = 'count' AND consumer_group = 'other';
-- Single messages done ahead are not handed out again, and disturb no other's count.
SELECT lease AS l, messages FROM pg_temp.take('count', 'other', batch => 8, lease_time => '1 microsecond') \gset
\echo :messages
SELECT queen.ack_messages(:'l', array[1, 4, 5, 7]);
SELECT messages FROM pg_temp.take('count', 'other', lease_time => '1 microsecond');

-- A model: two arrays of what each message has been through, beside a thousand pops of random size with a
-- random end: all, some from the front, single ones, a failure, given back, or no answer.
SELECT queen.create_queue('model', max_deliveries => NULL, retry_limit => 1000000, retry_delay => '0');
SELECT setseed(0.42) IS NOT NULL AS seeded;
DO $$
DECLARE
	delivered int[];			-- of each message not yet done, else NULL
	pushed int := 0;
	head int := 0;
	ends int[] := array[0, 0, 0, 0, 0, 0];
	wanted int;
	expected bigint[];
	counts int[];
	found bigint[];
	found_counts int[];
	picked bigint[];
	l uuid;
	done bigint[];
	answer bigint;
BEGIN
	FOR round IN 1 .. 1000 LOOP
		IF random() < 0.3 THEN
			wanted := 1 + random() * 30;
			PERFORM pg_temp.fill('model', wanted);
			delivered := delivered || array_fill(0, array[wanted]);
			pushed := pushed + wanted;
		END IF;
		wanted := 1 + random() * random() * 40;

		WHILE head < pushed AND delivered[head + 1] IS NULL LOOP
			head := head + 1;
		END LOOP;
		expected := NULL;
		counts := NULL;
		FOR o IN head .. pushed - 1 LOOP
			CONTINUE WHEN delivered[o + 1] IS NULL;
			delivered[o + 1] := delivered[o + 1] + 1;
			expected := expected || o::bigint;
			counts := counts || delivered[o + 1];
			EXIT WHEN cardinality(expected) = wanted;
		END LOOP;
		SELECT array_agg(message_offset), array_agg(delivery), min(lease::text),
			   array_agg(message_offset ORDER BY random()) FILTER (WHERE random() < 0.4)
		  INTO found, found_counts, l, picked
		  FROM queen.pop('model', batch => wanted, lease_time => '1 microsecond');
		IF (found, found_counts) IS DISTINCT FROM (expected, counts) THEN
			RAISE EXCEPTION 'round %: got % %, not % %', round, found, found_counts, expected, counts;
		END IF;
		CONTINUE WHEN picked IS NULL;

		done := NULL;
		wanted := floor(random() * 6);
		ends[wanted + 1] := ends[wanted + 1] + 1;
		CASE wanted
			WHEN 0 THEN
				answer := queen.ack(l);
				done := found;
			WHEN 1 THEN
				answer := queen.ack(l, picked[1]);
				done := array(SELECT f FROM unnest(found) f WHERE f <= picked[1]);
			WHEN 2 THEN
				answer := queen.ack_messages(l, picked);
				done := picked;
			WHEN 3 THEN
				PERFORM queen.nack(l, picked[1], complete_before => true);
				done := array(SELECT f FROM unnest(found) f WHERE f < picked[1]);
				answer := cardinality(done);
			WHEN 4 THEN
				IF queen.release(l) <> cardinality(found) THEN
					RAISE EXCEPTION 'round %: release', round;
				END IF;
			ELSE
				NULL;
		END CASE;
		IF done IS NOT NULL THEN
			IF answer <> cardinality(done) THEN
				RAISE EXCEPTION 'round %: % completed, not %', round, answer, done;
			END IF;
			FOREACH answer IN ARRAY done LOOP
				delivered[answer + 1] := NULL;
			END LOOP;
		END IF;
	END LOOP;
	RAISE NOTICE 'messages: %, each end often enough: %', pushed > 2000, (SELECT min(e) > 50 FROM unnest(ends) e);
	RAISE NOTICE 'lag agrees: %', (SELECT behind FROM queen.cursors WHERE queue = 'model') =
		(SELECT count(*) FROM unnest(delivered) d WHERE d IS NOT NULL);
END $$;

--
-- A lease of a transaction, or of a savepoint, that was rolled back never becomes good
--
SELECT queen.create_queue('undo');
SELECT pg_temp.fill('undo', 3);
SELECT queen.subscribe('undo', 'g');
BEGIN;
SELECT lease AS undone FROM pg_temp.take('undo', 'g') \gset
SELECT version AS undone_version FROM queen.cursors WHERE queue = 'undo' \gset
ROLLBACK;
SELECT pg_temp.fails(format('SELECT queen.ack(%L)', :'undone'));
SELECT lease AS good FROM pg_temp.take('undo', 'g') \gset
SELECT version = :undone_version AS same_version, lease = :'good' AS leased FROM queen.cursors WHERE queue = 'undo';
SELECT pg_temp.fails(format('SELECT queen.ack(%L)', :'undone'));
SELECT pg_temp.fails(format('SELECT queen.nack(%L)', :'undone'));
SELECT pg_temp.fails(format('SELECT queen.renew(%L)', :'undone'));
SELECT pg_temp.fails(format('SELECT queen.release(%L)', :'undone'));
SELECT state FROM queen.ack_leases(array[:'undone']::uuid[]);
SELECT queen.release(:'good');
BEGIN;
SAVEPOINT s;
SELECT lease AS undone FROM pg_temp.take('undo', 'g') \gset
SELECT version AS undone_version FROM queen.cursors WHERE queue = 'undo' \gset
ROLLBACK TO s;
SELECT pg_temp.fails(format('SELECT queen.ack(%L)', :'undone'));
SELECT lease AS good, messages FROM pg_temp.take('undo', 'g') \gset
\echo :messages
SELECT version = :undone_version AS same_version FROM queen.cursors WHERE queue = 'undo';
SELECT pg_temp.fails(format('SELECT queen.ack(%L)', :'undone'));
COMMIT;
SELECT pg_temp.fails(format('SELECT queen.ack(%L)', :'undone'));
SELECT queen.ack(:'good');

--
-- Partitions take turns: with one partition a pop, ten pops see ten partitions
--
SELECT queen.create_queue('turns');
SELECT pg_temp.fill('turns', 10, 'p' || n) FROM generate_series(1, 10) n;
CREATE TEMP TABLE turns (round int GENERATED ALWAYS AS IDENTITY (START 0 MINVALUE 0), partition text, message_offset bigint);
DO $$
BEGIN
	FOR n IN 1 .. 100 LOOP
		INSERT INTO turns (partition, message_offset)
			SELECT p.partition, p.message_offset FROM queen.pop('turns', batch => 1, max_partitions => 1, auto_ack => true) p;
	END LOOP;
END $$;
SELECT count(*) AS rounds, min(partitions) AS partitions, bool_and(in_step) AS in_step
  FROM (SELECT count(DISTINCT partition) AS partitions, bool_and(message_offset = round / 10) AS in_step
		  FROM turns GROUP BY round / 10) r;
-- With leases: the one that this very call completed comes last.
SELECT pg_temp.fill('turns', 2, 'p' || n) FROM generate_series(1, 3) n;
SELECT partition AS p1, lease AS l1 FROM pg_temp.take('turns', batch => 1) \gset
SELECT partition AS p2, lease AS l2 FROM pg_temp.take('turns', batch => 1, ack => array[:'l1']::uuid[]) \gset
SELECT partition AS p3, lease AS l3 FROM pg_temp.take('turns', batch => 1, ack => array[:'l2']::uuid[]) \gset
SELECT count(DISTINCT p) FROM unnest(array[:'p1', :'p2', :'p3']) p;
SELECT count(*) FROM queen.pop('turns', ack => array[:'l3']::uuid[]);

--
-- An empty pop over 5,000 partitions leaves no lock of a cursor behind
--
SELECT queen.create_queue('wide');
SELECT count(*) FROM queen.push_items('wide', (SELECT jsonb_agg(jsonb_build_object('payload', n, 'partition', 'p' || n)) FROM generate_series(1, 2500) n));
SELECT count(*) FROM queen.push_items('wide', (SELECT jsonb_agg(jsonb_build_object('payload', n, 'partition', 'p' || n)) FROM generate_series(2501, 5000) n));
CREATE FUNCTION pg_temp.cursor_locks() RETURNS bigint LANGUAGE sql AS $$
	SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory' AND objsubid = 20741
$$;
SELECT count(*) FROM queen.pop('wide', batch => 2500, max_partitions => 2500, lease_time => '1 hour');
SELECT count(*) FROM queen.pop('wide', batch => 2500, max_partitions => 2500, auto_ack => true);
BEGIN;
SELECT count(*) FROM queen.pop('wide');
SELECT pg_temp.cursor_locks();
SELECT count(*) FROM queen.pop('wide', partition => 'p1');
SELECT pg_temp.cursor_locks();
-- The first group sees them all, takes three, and keeps three locks.
SELECT count(*) FROM queen.pop('wide', 'g', max_partitions => 3);
SELECT pg_temp.cursor_locks();
COMMIT;
SELECT pg_temp.cursor_locks();
SELECT queen.drop_queue('wide', true);

--
-- Over the edges of segments
--
SELECT queen.create_queue('long');
SELECT first_offset, messages FROM queen.push_batch('long',
	(SELECT jsonb_agg(jsonb_build_object('n', n, 'fill', repeat(chr(97 + n % 26), 50000))) FROM generate_series(0, 49) n));
SELECT count(*) > 3 AS cut, sum(message_count), max(octet_length(frames)) <= 512 * 1024 + 51000 AS small
  FROM queen.segment WHERE partition_id = (SELECT partition_id FROM queen.partitions WHERE queue = 'long');
CREATE TEMP TABLE got (seq int GENERATED ALWAYS AS IDENTITY, message_offset bigint, payload json);
DO $$
DECLARE
BEGIN
	FOR n IN 1 .. 8 LOOP
		INSERT INTO got (message_offset, payload)
			SELECT p.message_offset, p.payload FROM queen.pop('long', batch => 7, auto_ack => true) p;
	END LOOP;
END $$;
SELECT count(*), bool_and(message_offset = seq - 1 AND (payload->>'n')::int = seq - 1
						  AND payload->>'fill' = repeat(chr(97 + (seq - 1) % 26), 50000)) AS right FROM got;
-- One pop over all of them, and a lease that is cut short in the middle of a segment.
SELECT messages, lease AS l FROM pg_temp.take('long', 'g2', lease_time => '1 microsecond') \gset
\echo :messages
SELECT queen.ack(:'l', 17);
SELECT messages FROM pg_temp.take('long', 'g2', batch => 20);
-- max_bytes ends a pop in the middle of a segment, too.
SELECT messages FROM pg_temp.take('long', 'g3', max_bytes => 700000, auto_ack => true);
SELECT messages FROM pg_temp.take('long', 'g3', max_bytes => 700000, auto_ack => true);
-- A hundred messages out of segments of one message, and out of mixed ones.
SELECT queen.create_queue('short');
SELECT count(*) FROM (SELECT queen.push('short', to_jsonb(n)) FROM generate_series(0, 249) n) p;
SELECT pg_temp.fill('short', 3), (queen.push('short', '253')).status, pg_temp.fill('short', 200);
SELECT count(*), bool_and(payload::text = message_offset::text) AS right, min(message_offset), max(message_offset)
  FROM queen.pop('short', auto_ack => true);
SELECT count(*), bool_and(payload::text = message_offset::text) AS right, min(message_offset), max(message_offset)
  FROM queen.pop('short', auto_ack => true);
SELECT messages FROM pg_temp.take('short', auto_ack => true);
SELECT messages FROM pg_temp.take('short', batch => 1000, auto_ack => true);
SELECT messages FROM pg_temp.take('short', auto_ack => true);

--
-- What is refused
--
SELECT pg_temp.fails($$SELECT FROM queen.pop('no such queue')$$);
SELECT pg_temp.fails(format($$SELECT FROM queen.pop('pop', %s)$$, argument))
  FROM unnest(array['batch => 0', 'batch => -1', 'batch => 1000001', 'max_partitions => 0', 'max_bytes => 0',
					'lease_time => ''0''', 'lease_time => ''-1 s''', 'lease_time => ''367 days''',
					'consumer_group => ''''', 'partition => ''''',
					'batch => NULL', 'max_partitions => NULL', 'auto_ack => NULL', 'strict_ack => NULL',
					'consumer_group => NULL', 'ack => array[NULL]::uuid[]',
					'ack => array[[gen_random_uuid()]]']) argument;
SELECT count(*) FROM queen.consumer_groups WHERE queue = 'pop';
SELECT queen.pause_queue('pop');
SELECT pg_temp.fails($$SELECT FROM queen.pop('pop')$$);
SELECT queen.resume_queue('pop');
BEGIN READ ONLY;
SELECT pg_temp.fails($$SELECT FROM queen.pop('pop')$$);
ROLLBACK;

SELECT queen.drop_queue(queue, true) FROM queen.queues ORDER BY queue;
SELECT (SELECT count(*) FROM queen.partition) + (SELECT count(*) FROM queen.segment) + (SELECT count(*) FROM queen.cursor)
	   + (SELECT count(*) FROM queen.consumer_group) AS left;
