-- ack: ack, ack_messages, ack_leases, renew, release; stale and forged leases.
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
-- ack completes a lease and answers how many messages that were; a second one completes none
--
SELECT queen.create_queue('ack', retry_delay => '0');
SELECT pg_temp.fill('ack', 20, 'a');
SELECT lease AS l FROM pg_temp.take('ack', batch => 3) \gset
SELECT queen.ack(:'l');
SELECT queen.ack(:'l');
SELECT queen.ack_messages(:'l', array[0, 1, 2]);
SELECT queen.ack(:'l', 1);
SELECT queen.release(:'l');
SELECT state, messages FROM queen.ack_leases(array[:'l']::uuid[]);
SELECT committed, has_lease FROM queen.cursors WHERE queue = 'ack';
-- A completed lease cannot fail, nor be prolonged.
SELECT pg_temp.fails(format('SELECT queen.nack(%L)', :'l'));
SELECT pg_temp.fails(format('SELECT queen.reject(%L)', :'l'));
SELECT pg_temp.fails(format('SELECT queen.renew(%L)', :'l'));
-- The last four completed leases are remembered, the fifth is not.
SELECT lease AS l2 FROM pg_temp.take('ack', batch => 1) \gset
SELECT queen.ack(:'l2');
SELECT lease AS l3 FROM pg_temp.take('ack', batch => 1) \gset
SELECT queen.ack(:'l3');
SELECT lease AS l4 FROM pg_temp.take('ack', batch => 1) \gset
SELECT queen.ack(:'l4');
SELECT queen.ack(:'l') AS first, queen.ack(:'l2') AS second, queen.ack(:'l3') AS third, queen.ack(:'l4') AS fourth;
SELECT lease AS l5 FROM pg_temp.take('ack', batch => 1) \gset
SELECT queen.ack(:'l') AS first_while_the_fifth_is_out;
SELECT queen.ack(:'l5');
SELECT pg_temp.fails(format('SELECT queen.ack(%L)', :'l')) AS first;
SELECT queen.ack(:'l2') AS second, queen.ack(:'l5') AS fifth;
-- A lease that was given back or failed is not among them.
SELECT lease AS l6 FROM pg_temp.take('ack', batch => 1) \gset
SELECT queen.release(:'l6');
SELECT pg_temp.fails(format('SELECT queen.ack(%L)', :'l6'));
SELECT queen.ack(:'l2') AS second;

--
-- through: up to an offset; the rest stays leased
--
SELECT pg_temp.fill('ack', 10, 'b');
SELECT lease AS l, messages FROM pg_temp.take('ack', partition => 'b', batch => 5, lease_time => '1 hour') \gset
\echo :messages
SELECT queen.ack(:'l', 0) AS lowest;
SELECT committed, lease_start, lease_end, leased FROM queen.cursors WHERE partition = 'b';
SELECT queen.ack(:'l', 2) AS further, queen.ack(:'l', 2) AS again, queen.ack(:'l', 1) AS back;
SELECT committed, lease_start, lease_end, leased, lease = :'l' AS same FROM queen.cursors WHERE partition = 'b';
SELECT count(*) FROM queen.pop('ack', partition => 'b');
SELECT pg_temp.fails(format('SELECT queen.ack(%L, 5)', :'l'));
SELECT pg_temp.fails(format('SELECT queen.ack(%L, -1)', :'l'));
SELECT pg_temp.fails(format('SELECT queen.ack(%L, 9223372036854775807)', :'l'));
SELECT pg_temp.fails(format('SELECT queen.ack(%L, NULL)', :'l'));
SELECT committed FROM queen.cursors WHERE partition = 'b';
SELECT queen.ack(:'l', 4) AS last;
SELECT queen.ack(:'l') AS none_left;
SELECT committed, has_lease, deliveries FROM queen.cursors WHERE partition = 'b';
-- In a lease that does not begin at 0 as well.
SELECT lease AS l, messages FROM pg_temp.take('ack', partition => 'b', batch => 3) \gset
\echo :messages
SELECT pg_temp.fails(format('SELECT queen.ack(%L, 4)', :'l')) AS below;
SELECT pg_temp.fails(format('SELECT queen.ack(%L, 8)', :'l')) AS above;
SELECT queen.ack(:'l', 7) AS to_the_end;
SELECT committed, has_lease FROM queen.cursors WHERE partition = 'b';

--
-- ack_messages: single ones, in any order, without completing others
--
SELECT pg_temp.fill('ack', 8, 'c');
SELECT lease AS l, messages FROM pg_temp.take('ack', partition => 'c', batch => 3, lease_time => '1 microsecond') \gset
\echo :messages
SELECT queen.ack_messages(:'l', array[2]);
SELECT committed, acked, behind, lease = :'l' AS leased FROM queen.cursors WHERE partition = 'c';
-- The third of three does not complete the first two: exactly they come back, and what follows.
SELECT lease AS l, messages FROM pg_temp.take('ack', partition => 'c', lease_time => '1 microsecond') \gset
\echo :messages
SELECT queen.ack_messages(:'l', array[6, 4, 4, 6, 1]);
SELECT queen.ack_messages(:'l', array[6, 4, 2, 5]) AS one_is_new;
SELECT queen.ack_messages(:'l', array[]::bigint[]) AS none;
SELECT committed, acked, behind FROM queen.cursors WHERE partition = 'c';
SELECT pg_temp.fails(format('SELECT queen.ack_messages(%L, array[0, 8])', :'l'));
SELECT pg_temp.fails(format('SELECT queen.ack_messages(%L, array[-1])', :'l'));
SELECT pg_temp.fails(format('SELECT queen.ack_messages(%L, array[0, NULL])', :'l'));
SELECT pg_temp.fails(format('SELECT queen.ack_messages(%L, NULL)', :'l'));
SELECT pg_temp.fails(format('SELECT queen.ack_messages(%L, array[[0], [3]])', :'l'));
SELECT pg_temp.fails(format('SELECT queen.ack_messages(NULL, array[0])'));
SELECT committed, acked FROM queen.cursors WHERE partition = 'c';
SELECT lease AS l, messages FROM pg_temp.take('ack', partition => 'c', lease_time => '1 microsecond') \gset
\echo :messages
-- ack completes what lies between, ack_messages the last of them, and the lease ends by itself.
SELECT queen.ack_messages(:'l', array[0]);
SELECT committed, acked, lease_start, lease_end, has_lease FROM queen.cursors WHERE partition = 'c';
SELECT queen.ack_messages(:'l', array[7, 3]);
SELECT committed, acked, behind, has_lease, deliveries FROM queen.cursors WHERE partition = 'c';
SELECT queen.ack(:'l') AS finished_before;
-- ack of a lease of which single ones were done counts the others only.
SELECT pg_temp.fill('ack', 6, 'c');
SELECT lease AS l, messages FROM pg_temp.take('ack', partition => 'c') \gset
\echo :messages
SELECT queen.ack_messages(:'l', array[10, 12]);
SELECT queen.ack(:'l', 11);
SELECT queen.ack(:'l');

-- 10,000 in random order, in a few calls.
SELECT queen.create_queue('ten thousand');
SELECT pg_temp.fill('ten thousand', 10000);
SELECT min(lease::text) AS l, count(*) FROM queen.pop('ten thousand', batch => 10000) \gset
\echo :count
SELECT setseed(0.5) IS NOT NULL AS seeded;
CREATE TEMP TABLE parts AS SELECT part, array_agg(o ORDER BY random()) AS offsets
	FROM (SELECT o, floor(random() * 4)::int AS part FROM generate_series(0, 9999) o) p GROUP BY part;
SELECT queen.ack_messages(:'l', offsets) = cardinality(offsets) AS "right" FROM parts WHERE part < 3;
SELECT behind = (SELECT cardinality(offsets) FROM parts WHERE part = 3) AS behind, has_lease,
	   -- No offset that is done is missing from what the cursor keeps, and none is in it that is not.
	   (SELECT count(*) FROM generate_series(0::bigint, 9999) o
		 WHERE (o <= committed OR o <@ acked) = o IN (SELECT unnest(offsets) FROM parts WHERE part = 3)) AS wrong
  FROM queen.cursors WHERE queue = 'ten thousand';
SELECT queen.ack_messages(:'l', offsets || offsets) = cardinality(offsets) AS "right" FROM parts WHERE part = 3;
SELECT committed, acked, has_lease FROM queen.cursors WHERE queue = 'ten thousand';
SELECT queen.drop_queue('ten thousand', true);

--
-- ack_leases: a row for each, in their order
--
SELECT queen.create_queue('leases');
SELECT pg_temp.fill('leases', 3, 'p' || n) FROM generate_series(0, 9) n;
SELECT array_agg(lease ORDER BY partition) AS leases FROM pg_temp.take('leases', lease_time => '1 microsecond') \gset
SELECT messages, lease AS thief FROM pg_temp.take('leases', partition => 'p3') \gset
\echo :messages
-- One lost among ten: the other nine are completed.
SELECT n, lease = (:'leases'::uuid[])[n] AS in_order, state, messages
  FROM queen.ack_leases(:'leases') WITH ORDINALITY AS a(lease, state, messages, n);
SELECT partition, committed, has_lease, lease = :'thief' AS thiefs FROM queen.cursors WHERE queue = 'leases' AND (has_lease OR behind > 0);
SELECT state, count(*), sum(messages) FROM queen.ack_leases(:'leases') GROUP BY 1 ORDER BY 1;
-- Of several queues and groups, each twice, among ones that never were.
SELECT queen.create_queue('leases2');
SELECT pg_temp.fill('leases2', 2, 'p' || n) FROM generate_series(0, 3) n;
CREATE TEMP TABLE held AS
	SELECT lease FROM pg_temp.take('leases2', 'g1')
	UNION ALL SELECT lease FROM pg_temp.take('leases', 'g2', batch => 9)
	UNION ALL SELECT lease FROM pg_temp.take('leases2', 'g2', batch => 4)
	UNION ALL SELECT :'thief';
SELECT state, messages, count(*), count(DISTINCT lease)
  FROM queen.ack_leases((SELECT array_agg(lease ORDER BY random())
						   FROM (SELECT lease FROM held UNION ALL SELECT lease FROM held UNION ALL
								 SELECT gen_random_uuid() FROM generate_series(1, 3)) l))
 GROUP BY 1, 2 ORDER BY 1, 2;
SELECT queue, consumer_group, sum(behind) AS behind, bool_or(has_lease) AS leased FROM queen.cursors WHERE queue LIKE 'leases%' GROUP BY 1, 2 ORDER BY 1, 2;
SELECT pg_temp.fails('SELECT queen.ack_leases(NULL)');
SELECT pg_temp.fails('SELECT queen.ack_leases(array[gen_random_uuid(), NULL])');
SELECT pg_temp.fails('SELECT queen.ack_leases(array[[gen_random_uuid()]])');
SELECT count(*) FROM queen.ack_leases(array[]::uuid[]);

--
-- renew never shortens; it revives a lease that expired and that nobody took
--
SELECT queen.create_queue('renew', lease => '30 min');
SELECT pg_temp.fill('renew', 4);
CREATE FUNCTION pg_temp.about(at timestamptz) RETURNS text LANGUAGE sql AS $$
	SELECT round(extract(epoch FROM at - clock_timestamp()) / 60) || ' min'
$$;
SELECT lease AS l FROM pg_temp.take('renew', batch => 2, lease_time => '1 hour') \gset
SELECT pg_temp.about(queen.renew(:'l', '2 hours')) AS longer, pg_temp.about(queen.renew(:'l', '1 s')) AS not_shorter,
	   pg_temp.about(queen.renew(:'l')) AS not_shorter_by_default;
SELECT pg_temp.about(lease_until) AS until, version FROM queen.cursors JOIN queen.leases USING (lease, lease_until) WHERE lease = :'l';
SELECT queen.release(:'l');
SELECT lease AS l, messages FROM pg_temp.take('renew', batch => 2, lease_time => '1 microsecond') \gset
\echo :messages
SELECT expired FROM queen.leases WHERE lease = :'l';
SELECT pg_temp.about(queen.renew(:'l')) AS by_default;
SELECT expired, messages FROM queen.leases WHERE lease = :'l';
SELECT count(*) FROM queen.pop('renew');
SELECT queen.ack(:'l');
SELECT pg_temp.fails(format('SELECT queen.renew(%L, %L)', :'l', length)) FROM unnest(array['0', '-1 s', '367 days']) length;
SELECT pg_temp.fails('SELECT queen.renew(NULL)');

--
-- release gives back what is not completed, uncharged
--
SELECT lease AS l FROM pg_temp.take('renew') \gset
SELECT queen.ack_messages(:'l', array[3]);
SELECT queen.release(:'l');
SELECT committed, acked, behind, has_lease, deliveries, failures, not_before FROM queen.cursors WHERE queue = 'renew';
SELECT pg_temp.fails(format('SELECT queen.release(%L)', :'l'));
SELECT pg_temp.fails('SELECT queen.release(NULL)');
SELECT messages FROM pg_temp.take('renew');

--
-- An expired lease is good until another pop has taken the partition; then all of its holder's calls are refused
--
SELECT queen.create_queue('stale', retry_delay => '0');
SELECT pg_temp.fill('stale', 5);
SELECT lease AS l FROM pg_temp.take('stale', batch => 4, lease_time => '1 microsecond') \gset
SELECT expired FROM queen.leases WHERE queue = 'stale';
SELECT queen.ack_messages(:'l', array[1]), queen.ack(:'l', 0);
SELECT lease AS thief, messages FROM pg_temp.take('stale', lease_time => '1 microsecond') \gset
\echo :messages
CREATE FUNCTION pg_temp.refused(lease uuid) RETURNS TABLE (command text, answer text) LANGUAGE sql AS $$
	SELECT c, left(pg_temp.fails(format(c, lease)), 25) FROM unnest(array[
		'SELECT queen.ack(%L)', 'SELECT queen.ack(%L, 2)', 'SELECT queen.ack_messages(%L, array[2])',
		'SELECT queen.nack(%L)', 'SELECT queen.nack(%L, 2, complete_before => true)', 'SELECT queen.reject(%L)',
		'SELECT queen.release(%L)', 'SELECT queen.renew(%L)', 'SELECT queen.renew(%L, ''1 day'')']) c
$$;
SELECT * FROM pg_temp.refused(:'l');
SELECT state FROM queen.ack_leases(array[:'l']::uuid[]);
-- The new holder has expired meanwhile, too, and is not harmed.
SELECT queen.ack(:'thief');
SELECT committed, behind FROM queen.cursors WHERE queue = 'stale';
SELECT * FROM pg_temp.refused(:'l') WHERE answer NOT LIKE 'QN001%';

--
-- Forged leases move nothing
--
SELECT pg_temp.fill('stale', 5);
SELECT lease AS l FROM pg_temp.take('stale', lease_time => '1 hour') \gset
SELECT lease AS other FROM pg_temp.take('renew', 'g') \gset
CREATE TEMP TABLE before AS SELECT * FROM queen.cursor;
SELECT * FROM pg_temp.refused(NULL);
CREATE TEMP TABLE forged AS
	SELECT 'random' AS kind, gen_random_uuid() AS lease
	UNION ALL SELECT 'zero', '00000000-0000-0000-0000-000000000000'
	UNION ALL SELECT 'all ones', 'ffffffff-ffff-ffff-ffff-ffffffffffff'
	UNION ALL SELECT 'without nonce', (left(:'l', 24) || '000000000000')::uuid
	UNION ALL SELECT 'another nonce', (left(:'l', 35) || translate(right(:'l', 1), '0123456789abcdef', '123456789abcdef0'))::uuid
	UNION ALL SELECT 'its partition, group and nonce of another queue', (left(:'l', 13) || substr(:'other', 14))::uuid
	UNION ALL SELECT 'its partition and group, nonce of another queue', (left(:'l', 23) || substr(:'other', 24))::uuid
	UNION ALL SELECT 'its group and nonce, partition of another queue', (left(:'other', 13) || substr(:'l', 14))::uuid
	UNION ALL SELECT 'its nonce, all else of another queue', (left(:'other', 23) || substr(:'l', 24))::uuid
	UNION ALL SELECT 'group that is not there', (left(:'l', 13) || '-7fff-ffff' || substr(:'l', 24))::uuid
	UNION ALL SELECT 'partition that is not there', ('7fffffff-ffff' || substr(:'l', 14))::uuid;
SELECT kind, string_agg(DISTINCT answer, '; ') AS answers, count(*) FROM forged, LATERAL pg_temp.refused(lease) GROUP BY kind ORDER BY kind;
SELECT state, count(*) FROM queen.ack_leases((SELECT array_agg(lease) FROM forged)) GROUP BY 1;
SELECT count(*) AS changed FROM (SELECT * FROM queen.cursor EXCEPT ALL SELECT * FROM before) c;
-- The lease itself is good.
SELECT queen.ack(:'l');

--
-- push, pop and ack in one transaction that rolls back
--
BEGIN;
SELECT queen.create_queue('undone');
SELECT pg_temp.fill('undone', 5, 'a');
SELECT lease AS l, messages FROM pg_temp.take('undone') \gset
\echo :messages
SELECT queen.ack(:'l', 2), queen.nack(:'l', delay => '0');
SELECT lease AS l, messages FROM pg_temp.take('undone') \gset
\echo :messages
SELECT queen.ack(:'l');
ROLLBACK;
SELECT count(*) FROM queen.queues WHERE queue = 'undone';
SELECT pg_temp.fails(format('SELECT queen.ack(%L)', :'l'));
SELECT queen.create_queue('undone');
SELECT pg_temp.fill('undone', 2, 'a');
BEGIN;
SELECT pg_temp.fill('undone', 3, 'a');
SELECT pg_temp.fill('undone', 3, 'b');
SELECT array_agg(lease) AS leases, string_agg(partition || ' ' || messages, ', ' ORDER BY partition) AS messages FROM pg_temp.take('undone') \gset
\echo :messages
SELECT state, sum(messages) FROM queen.ack_leases(:'leases') GROUP BY 1;
SELECT count(*) FROM queen.pop('undone');
ROLLBACK;
SELECT state, sum(messages) FROM queen.ack_leases(:'leases') GROUP BY 1;
SELECT partition, next_offset FROM queen.partitions WHERE queue = 'undone';
SELECT partition, messages, lease AS l FROM pg_temp.take('undone') \gset
\echo :partition :messages
-- An ack that is rolled back leaves the lease; one in a savepoint, too.
BEGIN;
SELECT queen.ack(:'l');
ROLLBACK;
BEGIN;
SAVEPOINT s;
SELECT queen.ack(:'l', 0);
ROLLBACK TO s;
SELECT queen.ack_messages(:'l', array[1]);
COMMIT;
SELECT committed, acked, leased FROM queen.cursors WHERE queue = 'undone';
SELECT queen.ack(:'l');

BEGIN READ ONLY;
SELECT answer, count(*) FROM pg_temp.refused(:'l') GROUP BY 1;
SELECT pg_temp.fails(format('SELECT queen.ack_leases(array[%L]::uuid[])', :'l'));
ROLLBACK;

SELECT count(queen.drop_queue(queue, true)) FROM queen.queues;
-- The queue is gone, and so are its leases.
SELECT answer, count(*) FROM pg_temp.refused(:'l') GROUP BY 1;
--
-- A lease forged of one queue's partition and another queue's group is lost, and locks nobody's group
--
SELECT queen.create_queue('mine'), queen.create_queue('yours');
SELECT count(*) FROM (SELECT queen.push('mine', '1', 'p'), queen.push('yours', '1', 'p')) x;
SELECT overlay(m.lease::text placing substr(y.lease::text, 15, 9) from 15)::uuid AS forged FROM queen.pop('mine', 'g') m, queen.pop('yours', 'g') y \gset
BEGIN;
SELECT state, messages FROM queen.ack_leases(array[:'forged'::uuid]);
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid() AND objsubid = 20739;
ROLLBACK;
SELECT queen.drop_queue('mine', true), queen.drop_queue('yours', true);
