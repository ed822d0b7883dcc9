-- views: each view's numbers in worked cases, who sees them, and what they look at.
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
SELECT queen.worker_stop() \g /dev/null
RESET client_min_messages;
--
-- queues: the options
--
SELECT queen.create_queue('plain');
SELECT queen.create_queue('full', partitions => 3, lease => '5 min', retry_limit => 7, retry_delay => '2 s', max_deliveries => NULL,
						  on_exhausted => 'drop', max_backlog => 1000);
SELECT queen.pause_queue('full');
SELECT queue, owner = current_user::regrole AS owned, paused, paused_at <= clock_timestamp() AS paused_at, partitions,
	   extract(epoch FROM lease)::int AS lease, retry_limit, extract(epoch FROM retry_delay)::int AS retry_delay,
	   max_deliveries, on_exhausted, max_backlog, created_at <= clock_timestamp() AS created_at
  FROM queen.queues ORDER BY queue;
SELECT queen.resume_queue('full');
SELECT paused, paused_at FROM queen.queues WHERE queue = 'full';
-- A queue without a partition, and without a group, is in no other view.
SELECT (SELECT count(*) FROM queen.partitions) AS partitions, (SELECT count(*) FROM queen.cursors) AS cursors,
	   (SELECT count(*) FROM queen.consumer_groups) AS groups, (SELECT count(*) FROM queen.leases) AS leases,
	   (SELECT count(*) FROM queen.dead_letters) AS dead_letters;
-- Nor does a group without a partition lag.
SELECT queen.subscribe('plain', 'early');
SELECT queue, consumer_group, subscription_mode, subscription_from, partitions, behind, leased, oldest_at, oldest_age FROM queen.consumer_groups;
SELECT count(*) FROM queen.cursors;

--
-- A day in the life of a queue
--
SELECT queen.create_queue('day', retry_delay => '0');
SELECT pg_temp.fill('day', 10, 'a'), pg_temp.fill('day', 5, 'b');
SELECT pg_temp.fill('day', 5, 'b');
CREATE FUNCTION pg_temp.time_of(queue text, partition text, message_offset bigint) RETURNS timestamptz LANGUAGE sql AS $$
	SELECT s.created_at FROM queen.segment s JOIN queen.partitions p USING (partition_id)
	 WHERE p.queue = $1 AND p.partition = $2 AND $3 BETWEEN s.base_offset AND s.base_offset + s.message_count - 1
$$;
SELECT partition, first_offset, next_offset, messages, last_at = pg_temp.time_of('day', partition, 9) AS last_at,
	   created_at <= last_at AS created_at FROM queen.partitions WHERE queue = 'day' ORDER BY 1;
SELECT queen.subscribe('day', 'idle');
SELECT queen.subscribe('day', 'new', 'new');
SELECT queen.subscribe('day', 'time', 'timestamp', pg_temp.time_of('day', 'b', 5));
SELECT queen.subscribe('day', 'future', 'timestamp', clock_timestamp() + '1 day');
SELECT lease AS a, messages FROM pg_temp.take('day', 'work', 6, partition => 'a', lease_time => '1 hour') \gset
\echo :messages
SELECT lease AS b, messages FROM pg_temp.take('day', 'work', 8, partition => 'b', lease_time => '1 microsecond') \gset
\echo :messages
SELECT queen.ack(:'a', 1), queen.ack_messages(:'a', array[3, 5]), queen.ack_messages(:'b', array[2, 3]);
-- committed NULL: never popped. behind does not count what is done ahead; leased only what a live lease holds and is not done.
SELECT consumer_group AS g, partition AS p, committed, next_offset, behind, leased, has_lease, lease_start, lease_end, acked, deliveries, failures,
	   version, lease IN (:'a', :'b') AS lease, lease_until > clock_timestamp() AS live,
	   oldest_at = pg_temp.time_of('day', partition, coalesce(committed + 1, 0)) AS oldest_at, updated_at <= clock_timestamp() AS updated
  FROM queen.cursors WHERE queue = 'day' ORDER BY 1, 2;
SELECT consumer_group, subscription_mode AS mode, subscription_from IS NOT NULL AS timed, partitions, behind, leased,
	   CASE oldest_at WHEN pg_temp.time_of('day', 'a', 0) THEN 'a 0' WHEN pg_temp.time_of('day', 'b', 0) THEN 'b 0'
			WHEN pg_temp.time_of('day', 'b', 5) THEN 'b 5' END AS oldest_at,
	   oldest_age BETWEEN '0' AND '1 hour' AS age
  FROM queen.consumer_groups WHERE queue = 'day' ORDER BY 1;
SELECT consumer_group, partition, first_offset, last_offset, messages, expired, lease IN (:'a', :'b') AS lease,
	   lease_until > clock_timestamp() AS live, leased_at <= clock_timestamp() AS leased_at
  FROM queen.leases WHERE queue = 'day' ORDER BY 1, 2;
-- The views agree with what a pop hands out.
SELECT consumer_group, behind, (SELECT count(*) FROM queen.pop('day', consumer_group, lease_time => '1 hour')) AS popped
  FROM queen.consumer_groups WHERE queue = 'day' AND consumer_group <> 'work' ORDER BY 1;
SELECT consumer_group, behind, leased FROM queen.consumer_groups WHERE queue = 'day' ORDER BY 1;
-- Failures, a pause and a dead letter.
SELECT queen.nack(:'b', 0, 'why', '1 hour'), queen.reject(:'a', 2, 'bad', 'worse');
SELECT partition, committed, behind, leased, has_lease, acked, failures, not_before > clock_timestamp() + '50 min' AS held, deliveries
  FROM queen.cursors WHERE queue = 'day' AND consumer_group = 'work' ORDER BY 1;
SELECT queue, partition, consumer_group, message_offset, payload, body, headers, reason, error, failures, deliveries,
	   created_at = pg_temp.time_of('day', 'a', 2) AS created_at, dead_at <= clock_timestamp() AS dead_at, dead_letter_id IS NOT NULL AS id
  FROM queen.dead_letters;
-- Whoever sees a lease can free it.
SELECT count(queen.release(lease)) FROM queen.leases WHERE queue = 'day';
SELECT count(*) FROM queen.leases WHERE queue = 'day';
-- What was removed lags nobody, also where it was leased, done ahead, or never looked at; nothing is below 0.
SELECT lease AS a FROM pg_temp.take('day', 'work', partition => 'a') \gset
SELECT queen.ack_messages(:'a', array[7, 9]);
SELECT queen.purge('day');
SELECT consumer_group, partitions, behind, leased, oldest_at, oldest_age FROM queen.consumer_groups WHERE queue = 'day' ORDER BY 1;
SELECT partition, first_offset, next_offset, messages, last_at IS NOT NULL AS last_at FROM queen.partitions WHERE queue = 'day' ORDER BY 1;
SELECT pg_temp.fill('day', 3, 'a');
SELECT consumer_group, partition, committed, next_offset, behind, leased, oldest_at = pg_temp.time_of('day', 'a', 10) AS oldest_at
  FROM queen.cursors WHERE queue = 'day' ORDER BY 1, 2;
SELECT consumer_group, behind, (SELECT count(*) FROM queen.pop('day', consumer_group)) AS popped
  FROM queen.consumer_groups WHERE queue = 'day' AND consumer_group <> 'work' ORDER BY 1;
SELECT count(*) FILTER (WHERE behind < 0 OR leased < 0) AS below_0 FROM queen.cursors;

--
-- Who does not own a queue sees nothing of it, whatever he asks
--
CREATE ROLE regress_queen_owner;
CREATE ROLE regress_queen_member IN ROLE regress_queen_owner;
CREATE ROLE regress_queen_other;
GRANT CREATE ON SCHEMA queen TO regress_queen_owner;
CREATE FUNCTION pg_temp.leak(what text) RETURNS boolean LANGUAGE plpgsql COST 0.000001 AS $$
BEGIN
	RAISE NOTICE 'leaked: %', what;
	RETURN true;
END $$;
SELECT count(queen.drop_queue(queue, true)) FROM queen.queues;
SET ROLE regress_queen_owner;
SELECT queen.create_queue('owned', completed_retention => '1 us', retention_bytes => 1);
SELECT FROM queen.push_batch('owned', '["secret", "secret"]', 'secret');
SELECT lease AS l FROM queen.pop('owned', 'secret', 1) \gset
SELECT queen.reject(:'l');
SELECT count(*) FROM queen.pop('owned', 'secret');
SELECT partition_id AS p, group_id AS g FROM queen.cursors \gset
SELECT queen.subscribe('owned', 'timed', 'timestamp', '2001-01-01');
SELECT FROM queen.push('owned', '1', 'removed') \; SELECT FROM queen.push('owned', '2', 'removed') \g /dev/null
SELECT partition, last_offset FROM queen.retain('owned');
\set seen 'SELECT (SELECT count(*) FROM queen.queues) AS queues, (SELECT count(*) FROM queen.partitions) AS partitions, (SELECT count(*) FROM queen.consumer_groups) AS groups, (SELECT count(*) FROM queen.cursors) AS cursors, (SELECT count(*) FROM queen.leases) AS leases, (SELECT count(*) FROM queen.dead_letters) AS dead_letters, (SELECT count(*) FROM queen.retention_pins) AS pins, (SELECT count(*) FROM queen.retention_history) AS history'
:seen;
SET ROLE regress_queen_member;
:seen;
SELECT queen._start_offset(:p, :g);
SET ROLE regress_queen_other;
:seen;
SELECT queen._start_offset(:p, :g);
-- Not even a function that tells what it is asked about, and that costs nothing, sees a row.
SELECT count(*) FROM queen.queues WHERE pg_temp.leak(queue);
SELECT count(*) FROM queen.partitions WHERE pg_temp.leak(partition);
SELECT count(*) FROM queen.consumer_groups WHERE pg_temp.leak(consumer_group);
SELECT count(*) FROM queen.cursors WHERE pg_temp.leak('committed ' || committed);
SELECT count(*) FROM queen.leases WHERE pg_temp.leak('lease end ' || last_offset);
SELECT count(*) FROM queen.dead_letters WHERE pg_temp.leak(payload::text);
SELECT count(*) FROM queen.retention_pins WHERE pg_temp.leak(partition);
SELECT count(*) FROM queen.retention_history WHERE pg_temp.leak(queue);
-- Nor are the tables open.
SELECT relname, pg_temp.fails(format('SELECT FROM queen.%I', relname)) FROM pg_class
 WHERE relnamespace = 'queen'::regnamespace AND relkind = 'r' ORDER BY 1;
RESET ROLE;
SELECT queen.drop_queue('owned', true);
REVOKE CREATE ON SCHEMA queen FROM regress_queen_owner;
DROP ROLE regress_queen_member, regress_queen_other, regress_queen_owner;
-- A queue whose owner is gone is still seen by a superuser, and may be dropped.
CREATE ROLE regress_queen_gone;
GRANT CREATE ON SCHEMA queen TO regress_queen_gone;
SET ROLE regress_queen_gone;
SELECT queen.create_queue('orphan');
RESET ROLE;
REVOKE CREATE ON SCHEMA queen FROM regress_queen_gone;
DROP ROLE regress_queen_gone;
SELECT queue FROM queen.queues;
SELECT queen.drop_queue('orphan');

--
-- No view scans segments
--
SELECT queen.create_queue('deep');
SELECT count(queen.push('deep', to_jsonb(repeat('x', 500)), 'p' || n % 2)) FROM generate_series(1, 3000) n;
SELECT queen.create_queue('wide');
SELECT count(*) FROM queen.push_items('wide', (SELECT jsonb_agg(jsonb_build_object('payload', 1, 'partition', 'p' || n)) FROM generate_series(1, 300) n));
SELECT queen.subscribe('deep', 'never popped'), queen.subscribe('deep', 'time', 'timestamp', '2001-01-01'), queen.subscribe('wide', 'new', 'new');
SELECT count(*) FROM generate_series(1, 400) n, queen.pop('deep', 'popped', 1 + n * 0, auto_ack => true);
CREATE FUNCTION pg_temp.looks(filter text, OUT name text, OUT scans_segments boolean, OUT few_buffers boolean) RETURNS SETOF record
LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	FOREACH name IN ARRAY array['queues', 'partitions', 'cursors', 'consumer_groups', 'leases', 'dead_letters'] LOOP
		EXECUTE format('EXPLAIN (ANALYZE, BUFFERS, FORMAT json) SELECT * FROM queen.%s %s', name, filter) INTO plan;
		scans_segments := EXISTS (SELECT FROM jsonb_path_query(plan, '$.** ? (@."Relation Name" == "segment")."Node Type"') n
								   WHERE n #>> '{}' IN ('Seq Scan', 'Bitmap Heap Scan'));
		few_buffers := (plan->0->'Plan'->>'Shared Hit Blocks')::int + (plan->0->'Plan'->>'Shared Read Blocks')::int
			< 300 + 3 * (SELECT relpages FROM pg_class WHERE oid = 'queen.partition'::regclass); -- one look at the partitions a group is allowed
		RETURN NEXT;
	END LOOP;
END $$;
SELECT count(*) FROM queen.cursors;
SELECT * FROM pg_temp.looks($$WHERE queue = 'deep'$$);
SELECT name, scans_segments FROM pg_temp.looks('');
VACUUM (ANALYZE) queen.queue, queen.partition, queen.segment, queen.consumer_group, queen.cursor, queen.dead_letter;
SELECT * FROM pg_temp.looks($$WHERE queue = 'deep'$$);
SELECT name, scans_segments FROM pg_temp.looks('');
SELECT consumer_group, partitions, behind FROM queen.consumer_groups WHERE queue = 'deep' ORDER BY 1;

SELECT count(queen.drop_queue(queue, true)) FROM queen.queues;
SELECT queen.worker_start();
