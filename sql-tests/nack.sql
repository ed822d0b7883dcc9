-- nack: failures and their pause, reject, dead letters, max_deliveries and poison.
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
CREATE FUNCTION pg_temp.place(queue text, partition text DEFAULT NULL, OUT committed bigint, OUT acked int8multirange, OUT failures int,
	OUT held text, OUT leased bigint, OUT deliveries bigint[])
LANGUAGE sql AS $$
	SELECT committed, acked, failures, round(extract(epoch FROM not_before - clock_timestamp()) / 60) || ' min', leased, deliveries
	  FROM queen.cursors WHERE queue = $1 AND partition = coalesce($2, partition)
$$;

-- Takes messages, several times, and never answers.
CREATE FUNCTION pg_temp.lose(queue text, times int, batch int DEFAULT 100) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	FOR n IN 1 .. times LOOP
		PERFORM FROM queen.pop(queue, batch => batch, lease_time => '1 microsecond');
	END LOOP;
END $$;

--
-- retry_limit: with 3, the fourth failure is final, and the group goes on behind the message
--
SELECT queen.create_queue('retry', retry_delay => '0');
SELECT FROM queen.push_items('retry', '[{"payload": {"b": 1, "a":  9007199254740993}, "transactionId": "tx", "headers": {"h": [1]}, "partition": "p"}]');
SELECT FROM queen.push('retry', 'bytes'::bytea, 'p');
SELECT pg_temp.fill('retry', 3, 'p');
SELECT lease AS l, messages FROM pg_temp.take('retry') \gset
\echo :messages
SELECT queen.nack(:'l', error => 'first');
SELECT * FROM pg_temp.place('retry');
SELECT pg_temp.fails(format('SELECT queen.ack(%L)', :'l'));
SELECT lease AS l, messages FROM pg_temp.take('retry', batch => 1) \gset
\echo :messages
SELECT queen.nack(:'l', 0, 'second');
SELECT lease AS l, messages FROM pg_temp.take('retry') \gset
\echo :messages
SELECT queen.nack(:'l', error => 'third');
SELECT * FROM pg_temp.place('retry');
SELECT count(*) FROM queen.dead_letters;
SELECT lease AS l, messages FROM pg_temp.take('retry') \gset
\echo :messages
SELECT queen.nack(:'l', error => 'fourth');
SELECT * FROM pg_temp.place('retry');
SELECT queue, partition, consumer_group, message_offset, transaction_id, payload, body, headers, reason, error, failures, deliveries
  FROM queen.dead_letters;
SELECT d.created_at = s.created_at AS created_with_its_segment, dead_at BETWEEN d.created_at AND clock_timestamp() AS dead_now
  FROM queen.dead_letters d, queen.segment s WHERE s.base_offset = 0;
-- The next message begins without failures. A body of bytes without headers, a reason and an error of the caller.
SELECT lease AS l, messages FROM pg_temp.take('retry') \gset
\echo :messages
SELECT queen.reject(:'l', reason => 'not for us', error => 'no such customer');
SELECT message_offset, transaction_id LIKE '%-1' AS derived_id, payload, body, headers, reason, error, failures, deliveries
  FROM queen.dead_letters WHERE message_offset = 1;
-- Another group does not lose them.
SELECT messages FROM pg_temp.take('retry', 'another');

--
-- The failure count belongs to the message at the head: who follows it begins at 0
--
SELECT queen.create_queue('head', retry_delay => '0');
SELECT pg_temp.fill('head', 10);
SELECT lease AS l FROM pg_temp.take('head') \gset
SELECT queen.nack(:'l');
SELECT lease AS l FROM pg_temp.take('head') \gset
SELECT queen.nack(:'l');
SELECT * FROM pg_temp.place('head');
SELECT lease AS l FROM pg_temp.take('head') \gset
SELECT queen.ack(:'l', 0);
SELECT * FROM pg_temp.place('head');
-- After a success message 1 has four tries of its own.
SELECT queen.nack(:'l', delay => '0');
SELECT lease AS l FROM pg_temp.take('head', batch => 1) \gset
SELECT queen.nack(:'l');
SELECT lease AS l FROM pg_temp.take('head', batch => 1) \gset
SELECT queen.nack(:'l');
SELECT * FROM pg_temp.place('head');
-- What is done ahead of it does not change the count, release and expiry neither.
SELECT lease AS l FROM pg_temp.take('head', lease_time => '1 microsecond') \gset
SELECT queen.ack_messages(:'l', array[2, 3, 5]);
SELECT lease AS l, messages FROM pg_temp.take('head') \gset
\echo :messages
SELECT queen.release(:'l');
SELECT * FROM pg_temp.place('head');
SELECT lease AS l FROM pg_temp.take('head') \gset
SELECT queen.nack(:'l');
SELECT * FROM pg_temp.place('head');
SELECT message_offset, failures, deliveries FROM queen.dead_letters WHERE queue = 'head';
-- A failure counted, then completed by a nack further on: gone with it.
SELECT lease AS l FROM pg_temp.take('head') \gset
SELECT queen.nack(:'l');
SELECT lease AS l FROM pg_temp.take('head') \gset
SELECT queen.nack(:'l', 7, complete_before => true);
SELECT * FROM pg_temp.place('head');

--
-- retry_delay holds the lane; other lanes, and other groups, go on
--
SELECT queen.create_queue('delay', retry_delay => '10 min');
SELECT pg_temp.fill('delay', 2, name) FROM unnest(array['a', 'b']) name;
SELECT lease AS l FROM pg_temp.take('delay', partition => 'a') \gset
SELECT queen.nack(:'l');
SELECT * FROM pg_temp.place('delay', 'a');
SELECT partition, messages FROM pg_temp.take('delay');
SELECT count(*) FROM queen.pop('delay', partition => 'a');
SELECT partition, messages FROM pg_temp.take('delay', 'another');
-- Its time is over, here by hand.
UPDATE queen.cursor SET not_before = clock_timestamp() WHERE not_before IS NOT NULL;
SELECT partition, messages, lease AS l FROM pg_temp.take('delay', partition => 'a') \gset
\echo :partition :messages
-- An own delay, longer and none; a message given up leaves no pause.
SELECT queen.nack(:'l', delay => '1 hour');
SELECT * FROM pg_temp.place('delay', 'a') ORDER BY failures DESC LIMIT 1;
UPDATE queen.cursor SET not_before = clock_timestamp() WHERE not_before IS NOT NULL;
SELECT lease AS l FROM pg_temp.take('delay', partition => 'a') \gset
SELECT queen.nack(:'l', delay => '0');
SELECT lease AS l FROM pg_temp.take('delay') \gset
SELECT queen.nack(:'l', delay => '1 hour');
SELECT messages, lease AS l FROM pg_temp.take('delay') \gset
\echo :messages
SELECT pg_temp.fails(format('SELECT queen.nack(%L, delay => %L)', :'l', delay)) FROM unnest(array['-1 s', '367 days']) delay;

--
-- A message further on: those before it must be done, or be completed by the call
--
SELECT queen.create_queue('further', retry_delay => '0', retry_limit => 0);
SELECT pg_temp.fill('further', 8);
SELECT lease AS l FROM pg_temp.take('further', batch => 6) \gset
CREATE TEMP TABLE before AS SELECT * FROM queen.cursor;
SELECT pg_temp.fails(format('SELECT queen.nack(%L, 2)', :'l'));
SELECT pg_temp.fails(format('SELECT queen.reject(%L, 2)', :'l'));
SELECT pg_temp.fails(format('SELECT queen.nack(%L, 6)', :'l'));
SELECT pg_temp.fails(format('SELECT queen.nack(%L, -1, complete_before => true)', :'l'));
SELECT pg_temp.fails(format('SELECT queen.reject(%L, 6, complete_before => true)', :'l'));
\set VERBOSITY sqlstate
SELECT queen.nack(:'l', 2);
\set VERBOSITY default
SELECT count(*) AS changed FROM (SELECT * FROM queen.cursor EXCEPT ALL SELECT * FROM before) c;
SELECT count(*) FROM queen.dead_letters WHERE queue = 'further';
-- Done one by one: 0 and 1, so that 2 may fail; 4 is done, and cannot.
SELECT queen.ack_messages(:'l', array[1, 4]);
SELECT pg_temp.fails(format('SELECT queen.nack(%L, 2)', :'l'));
SELECT pg_temp.fails(format('SELECT queen.nack(%L, 4, complete_before => true)', :'l'));
SELECT pg_temp.fails(format('SELECT queen.reject(%L, 1)', :'l'));
SELECT queen.ack(:'l', 0);
SELECT pg_temp.fails(format('SELECT queen.nack(%L, 0)', :'l'));
SELECT queen.nack(:'l', 2, 'of the middle');
SELECT * FROM pg_temp.place('further');
SELECT messages, lease AS l FROM pg_temp.take('further') \gset
\echo :messages
SELECT queen.reject(:'l', 6, complete_before => true);
SELECT * FROM pg_temp.place('further');
SELECT message_offset, reason, error, failures FROM queen.dead_letters WHERE queue = 'further' ORDER BY 1;
SELECT messages, lease AS l FROM pg_temp.take('further') \gset
\echo :messages
SELECT queen.nack(:'l', 7);
SELECT * FROM pg_temp.place('further');
SELECT count(*) FROM queen.pop('further');

--
-- on_exhausted = drop: passed over without a row
--
SELECT queen.create_queue('drop', retry_delay => '0', retry_limit => 1, on_exhausted => 'drop', max_deliveries => 3);
SELECT pg_temp.fill('drop', 4);
SELECT lease AS l FROM pg_temp.take('drop') \gset
SELECT queen.nack(:'l');
SELECT lease AS l FROM pg_temp.take('drop') \gset
SELECT queen.nack(:'l', error => 'again');
SELECT messages, lease AS l FROM pg_temp.take('drop') \gset
\echo :messages
SELECT queen.reject(:'l');
SELECT messages FROM pg_temp.take('drop', lease_time => '1 microsecond');
SELECT messages FROM pg_temp.take('drop', lease_time => '1 microsecond');
SELECT messages FROM pg_temp.take('drop', lease_time => '1 microsecond');
SELECT * FROM pg_temp.place('drop');
SELECT count(*) FROM queen.dead_letters WHERE queue = 'drop';

--
-- max_deliveries: alone at the last permitted delivery; then poison, and its neighbours are not
--
SELECT queen.create_queue('poison', max_deliveries => 3, retry_delay => '0');
SELECT pg_temp.fill('poison', 5);
SELECT messages FROM pg_temp.take('poison', batch => 3, lease_time => '1 microsecond');
SELECT messages FROM pg_temp.take('poison', lease_time => '1 microsecond');
SELECT messages FROM pg_temp.take('poison', lease_time => '1 microsecond');
SELECT count(*) FROM queen.dead_letters WHERE queue = 'poison';
-- 0 is poison; 1 is alone and answered; 2 is alone, not answered; 3 and 4 come up to it in their turn.
SELECT messages, lease AS l FROM pg_temp.take('poison', lease_time => '1 microsecond') \gset
\echo :messages
SELECT message_offset, payload, reason, error, failures, deliveries FROM queen.dead_letters WHERE queue = 'poison';
SELECT queen.ack(:'l');
SELECT messages FROM pg_temp.take('poison', lease_time => '1 microsecond');
SELECT messages FROM pg_temp.take('poison', lease_time => '1 microsecond');
SELECT messages, lease AS l FROM pg_temp.take('poison', lease_time => '1 microsecond') \gset
\echo :messages
SELECT message_offset, reason, deliveries FROM queen.dead_letters WHERE queue = 'poison' ORDER BY 1;
-- A release, and a failure, are answers: no poison, though the lease was the last one permitted. It stays alone.
SELECT queen.release(:'l');
SELECT messages, lease AS l FROM pg_temp.take('poison', lease_time => '1 microsecond') \gset
\echo :messages
SELECT queen.nack(:'l');
SELECT messages, lease AS l FROM pg_temp.take('poison', lease_time => '1 microsecond') \gset
\echo :messages
SELECT * FROM pg_temp.place('poison');
SELECT messages, lease AS l FROM pg_temp.take('poison', lease_time => '1 microsecond') \gset
\echo :messages
SELECT message_offset, reason, failures, deliveries FROM queen.dead_letters WHERE queue = 'poison' ORDER BY 1;
SELECT queen.ack(:'l') AS late_but_nobody_came;
-- An expired lease that renew revived is no poison, and its ack counts.
SELECT pg_temp.fill('poison', 1);
SELECT messages FROM pg_temp.take('poison', lease_time => '1 microsecond');
SELECT messages FROM pg_temp.take('poison', lease_time => '1 microsecond');
SELECT messages, lease AS l FROM pg_temp.take('poison', lease_time => '1 microsecond') \gset
\echo :messages
SELECT queen.renew(:'l') IS NOT NULL AS renewed;
SELECT count(*) FROM queen.pop('poison');
SELECT queen.ack(:'l');
SELECT count(*) FROM queen.dead_letters WHERE queue = 'poison';
-- Pinned and with auto_ack poison is found as well, and the pop goes on behind it.
SELECT pg_temp.fill('poison', 3);
SELECT pg_temp.lose('poison', 3, batch => 1);
SELECT messages FROM pg_temp.take('poison', partition => 'Default', auto_ack => true);
SELECT message_offset, reason, failures, deliveries FROM queen.dead_letters WHERE queue = 'poison' AND message_offset > 5;
-- The last one of a partition: the pop that buries it finds nothing else.
SELECT pg_temp.fill('poison', 1);
SELECT pg_temp.lose('poison', 3);
SELECT messages FROM pg_temp.take('poison');
SELECT message_offset, reason FROM queen.dead_letters WHERE queue = 'poison' AND message_offset > 6;
SELECT committed, behind, has_lease FROM queen.cursors WHERE queue = 'poison';

-- NULL: an expired lease never counts.
SELECT queen.create_queue('never', max_deliveries => NULL);
SELECT pg_temp.fill('never', 2);
SELECT pg_temp.lose('never', 99);
SELECT messages FROM pg_temp.take('never');
SELECT count(*) FROM queen.dead_letters WHERE queue = 'never';

-- 1: every message alone, a partition each.
SELECT queen.create_queue('once', max_deliveries => 1);
SELECT pg_temp.fill('once', 4, name) FROM unnest(array['a', 'b']) name;
SELECT partition, messages FROM pg_temp.take('once', lease_time => '1 microsecond');
SELECT partition, messages, lease AS l FROM pg_temp.take('once', partition => 'a') \gset
\echo :messages
SELECT queen.ack(:'l');
SELECT messages FROM pg_temp.take('once', partition => 'a', auto_ack => true);
SELECT messages, lease AS l FROM pg_temp.take('once', partition => 'a') \gset
\echo :messages
SELECT queen.nack(:'l', delay => '0');
SELECT messages FROM pg_temp.take('once', partition => 'a', lease_time => '1 microsecond');
SELECT count(*) FROM queen.pop('once', partition => 'a');
SELECT partition, message_offset, reason, failures, deliveries FROM queen.dead_letters WHERE queue = 'once' ORDER BY 1, 2;

-- Lowered while many are leased: none of them dies that was not alone.
SELECT queen.create_queue('lowered');
SELECT pg_temp.fill('lowered', 3);
SELECT messages FROM pg_temp.take('lowered', lease_time => '1 microsecond');
SELECT messages, lease AS l FROM pg_temp.take('lowered', lease_time => '1 microsecond') \gset
\echo :messages
SELECT queen.alter_queue('lowered', max_deliveries => 1);
SELECT queen.ack(:'l', 0);
SELECT messages FROM pg_temp.take('lowered', lease_time => '1 microsecond');
SELECT messages FROM pg_temp.take('lowered', lease_time => '1 microsecond');
SELECT message_offset, reason, deliveries FROM queen.dead_letters WHERE queue = 'lowered';
-- Raised again in time: the last one lives.
SELECT queen.alter_queue('lowered', max_deliveries => NULL);
SELECT messages FROM pg_temp.take('lowered', lease_time => '1 microsecond');
SELECT count(*) FROM queen.dead_letters WHERE queue = 'lowered';
-- retry_limit lowered: the next failure is final.
SELECT lease AS l FROM pg_temp.take('lowered') \gset
SELECT queen.nack(:'l', delay => '0');
SELECT queen.alter_queue('lowered', retry_limit => 0);
SELECT lease AS l FROM pg_temp.take('lowered') \gset
SELECT queen.nack(:'l');

--
-- A model of failures, deliveries and death beside a thousand pops with random ends
--
SELECT queen.create_queue('model', max_deliveries => 4, retry_limit => 1, retry_delay => '0');
SELECT setseed(0.7) IS NOT NULL AS seeded;
DO $$
DECLARE
	delivered int[];			-- of each message not yet done, else NULL
	pushed int := 0;
	head int := 0;
	failures int := 0;			-- of the message at the head
	dead text[];
	expected bigint[];			-- held by the lease
	counts int[];
	found bigint[];
	found_counts int[];
	picked bigint[];
	l uuid;
	wanted int;
	o int;
BEGIN
	FOR round IN 1 .. 2000 LOOP
		IF random() < 0.5 THEN
			wanted := 1 + random() * 10;
			PERFORM pg_temp.fill('model', wanted);
			delivered := delivered || array_fill(0, array[wanted]);
			pushed := pushed + wanted;
		END IF;

		-- What the pop finds: a lease without an answer, messages from the head on.
		IF cardinality(expected) = 1 AND delivered[expected[1] + 1] >= 4 THEN
			dead := dead || format('%s poison %s %s', expected[1], failures, delivered[expected[1] + 1]);
			delivered[expected[1] + 1] := NULL;
		END IF;
		WHILE head < pushed AND delivered[head + 1] IS NULL LOOP
			head := head + 1;
			failures := 0;
		END LOOP;
		wanted := 1 + random() * random() * 20;
		expected := NULL;
		counts := NULL;
		o := head;
		WHILE o < pushed AND coalesce(cardinality(expected), 0) < wanted LOOP
			IF delivered[o + 1] IS NOT NULL THEN
				EXIT WHEN expected IS NOT NULL AND delivered[o + 1] >= 3;
				delivered[o + 1] := delivered[o + 1] + 1;
				expected := expected || o::bigint;
				counts := counts || delivered[o + 1];
				EXIT WHEN delivered[o + 1] >= 4;
			END IF;
			o := o + 1;
		END LOOP;
		SELECT array_agg(message_offset), array_agg(delivery), min(lease::text),
			   array_agg(message_offset ORDER BY random()) FILTER (WHERE random() < 0.7)
		  INTO found, found_counts, l, picked
		  FROM queen.pop('model', batch => wanted, lease_time => '1 microsecond');
		IF (found, found_counts) IS DISTINCT FROM (expected, counts) THEN
			RAISE EXCEPTION 'round %: got % %, not % %', round, found, found_counts, expected, counts;
		END IF;
		CONTINUE WHEN picked IS NULL;

		-- How it ends.
		CASE floor(random() * 9)::int
			WHEN 0 THEN
				PERFORM queen.ack_messages(l, picked);
				FOREACH o IN ARRAY picked LOOP
					delivered[o + 1] := NULL;
				END LOOP;
				expected := NULL;
			WHEN 1, 2, 3 THEN
				FOREACH o IN ARRAY found LOOP
					CONTINUE WHEN o >= picked[1];
					delivered[o + 1] := NULL;
				END LOOP;
				IF picked[1] > head THEN
					failures := 0;
					head := picked[1];
				END IF;
				IF failures < 1 THEN
					failures := failures + 1;
					ASSERT queen.nack(l, picked[1], complete_before => true) = 'retry', round;
				ELSE
					dead := dead || format('%s failed %s %s', picked[1], 2, delivered[picked[1] + 1]);
					delivered[picked[1] + 1] := NULL;
					ASSERT queen.nack(l, picked[1], complete_before => true) = 'dead_letter', round;
				END IF;
				expected := NULL;
			WHEN 4 THEN
				PERFORM queen.release(l);
				expected := NULL;
			ELSE
				NULL;
		END CASE;
	END LOOP;
	picked := array(SELECT count(*) FROM unnest(dead) d GROUP BY d LIKE '% poison %');
	RAISE NOTICE 'both often: %', cardinality(picked) = 2 AND least(picked[1], picked[2]) > 50;
	RAISE NOTICE 'all agree: %', dead = array(SELECT format('%s %s %s %s', message_offset, reason, d.failures, deliveries)
		FROM queen.dead_letters d WHERE queue = 'model' ORDER BY dead_letter_id);
END $$;

--
-- Messages that were removed from the log meanwhile
--
SELECT queen.create_queue('gone', retry_delay => '0', retry_limit => 0);
SELECT pg_temp.fill('gone', 3, name) FROM unnest(array['a', 'b', 'c', 'd', 'e', 'f', 'g']) name;
SELECT array_agg(lease ORDER BY partition) AS l FROM pg_temp.take('gone') \gset
SELECT queen.ack_messages((:'l'::uuid[])[4], array[1]);
SELECT queen.purge('gone');
SELECT partition, committed, behind, leased, has_lease FROM queen.cursors WHERE queue = 'gone' ORDER BY 1;
SELECT pg_temp.fill('gone', 2, 'a'), pg_temp.fill('gone', 2, 'b');
SELECT queen.nack((:'l'::uuid[])[1]), queen.reject((:'l'::uuid[])[2], 1), queen.nack((:'l'::uuid[])[3], 2),
	   queen.reject((:'l'::uuid[])[4]), queen.ack((:'l'::uuid[])[5]), queen.ack((:'l'::uuid[])[6], 1), queen.release((:'l'::uuid[])[7]);
SELECT queen.ack((:'l'::uuid[])[5]);
SELECT partition, committed, behind, has_lease, failures FROM queen.cursors WHERE queue = 'gone' ORDER BY 1;
SELECT count(*) FROM queen.dead_letters WHERE queue = 'gone';
SELECT partition, messages FROM pg_temp.take('gone', lease_time => '1 microsecond');
-- An expired lease, alone at its last delivery, of a message that is gone: nothing dies.
SELECT queen.alter_queue('gone', max_deliveries => 1);
SELECT messages FROM pg_temp.take('gone', partition => 'a', lease_time => '1 microsecond');
SELECT queen.purge('gone');
SELECT count(*) FROM queen.pop('gone');
SELECT count(*) FROM queen.dead_letters WHERE queue = 'gone';

--
-- Undone with its transaction
--
SELECT queen.create_queue('undone', retry_limit => 0);
SELECT pg_temp.fill('undone', 2);
SELECT lease AS l FROM pg_temp.take('undone') \gset
BEGIN;
SELECT queen.nack(:'l');
ROLLBACK;
BEGIN;
SAVEPOINT s;
SELECT queen.reject(:'l');
ROLLBACK TO s;
SELECT queen.ack(:'l', 0);
COMMIT;
SELECT count(*) FROM queen.dead_letters WHERE queue = 'undone';
SELECT * FROM pg_temp.place('undone');

--
-- What is refused
--
SELECT pg_temp.fails(format('SELECT queen.' || command, :'l')) FROM unnest(array[
	'nack(NULL)', 'nack(%L, NULL)', 'nack(%L, complete_before => NULL)', 'nack(%L, 5)',
	'reject(NULL)', 'reject(%L, NULL)', 'reject(%L, complete_before => NULL)', 'reject(%L, reason => NULL)',
	'reject(%L, reason => '''')', 'reject(%L, reason => repeat(''r'', 256))', 'reject(%L, reason => E''a\nb'')',
	'nack(gen_random_uuid())', 'reject(gen_random_uuid())']) command;
BEGIN READ ONLY;
SELECT pg_temp.fails(format('SELECT queen.nack(%L)', :'l'));
SELECT pg_temp.fails(format('SELECT queen.reject(%L)', :'l'));
ROLLBACK;
SELECT * FROM pg_temp.place('undone');

SELECT count(queen.drop_queue(queue, true)) FROM queen.queues;
SELECT count(*) FROM queen.dead_letter;
