-- groups: consumer groups read by themselves, begin where they subscribed, and leave nothing behind.
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
-- Groups read one stored copy, each by itself
--
SELECT queen.create_queue('groups');
SELECT pg_temp.fill('groups', 4, 'a');
SELECT lease AS g1, messages FROM pg_temp.take('groups', 'g1', 3) \gset
\echo :messages
SELECT lease AS g2, messages FROM pg_temp.take('groups', 'g2') \gset
\echo :messages
SELECT queen.ack(:'g2');
SELECT consumer_group, committed, behind, has_lease FROM queen.cursors WHERE queue = 'groups' ORDER BY 1;
SELECT queen.release(:'g1');
-- A group that comes after all of it was read begins at the oldest message, too.
SELECT messages FROM pg_temp.take('groups', 'late');
SELECT messages FROM pg_temp.take('groups');
SELECT consumer_group, subscription_mode, subscription_from FROM queen.consumer_groups WHERE queue = 'groups' ORDER BY 1;

--
-- subscribe: once; what was decided first is kept
--
SELECT queen.subscribe('groups', 'ahead');
SELECT queen.subscribe('groups', 'ahead');
SELECT queen.subscribe('groups', 'ahead', 'new');
SELECT count(*) FROM queen.pop('groups', 'ahead', subscription_mode => 'new', batch => 1, lease_time => '1 microsecond');
SELECT count(*) FROM queen.pop('groups', 'ahead', subscription_from => clock_timestamp(), lease_time => '1 microsecond');
SELECT subscription_mode, subscription_from FROM queen.consumer_groups WHERE queue = 'groups' AND consumer_group = 'ahead';
-- The first pop decides; later ones ask in vain.
SELECT count(*) FROM queen.pop('groups', 'first', subscription_mode => 'new');
SELECT count(*) FROM queen.pop('groups', 'first', subscription_mode => 'all');
SELECT queen.subscribe('groups', 'first', 'all');
SELECT subscription_mode FROM queen.consumer_groups WHERE queue = 'groups' AND consumer_group = 'first';
-- A registration goes with its transaction, or with its savepoint.
BEGIN;
SELECT queen.subscribe('groups', 'undone');
ROLLBACK;
BEGIN;
SAVEPOINT s;
SELECT count(*) FROM queen.pop('groups', 'undone');
ROLLBACK TO s;
SELECT queen.subscribe('groups', 'undone', 'new');
COMMIT;
SELECT subscription_mode FROM queen.consumer_groups WHERE queue = 'groups' AND consumer_group = 'undone';

--
-- new: from the end of what is there; a partition made later from its beginning
--
SELECT queen.create_queue('new');
SELECT pg_temp.fill('new', 3, 'old');
SELECT pg_temp.fill('new', 3, 'emptied');
SELECT queen.subscribe('new', 'g', 'new');
SELECT count(*) FROM queen.pop('new', 'by pop', subscription_mode => 'new');
SELECT consumer_group, partition, committed, behind FROM queen.cursors WHERE queue = 'new' ORDER BY 1, 2;
SELECT pg_temp.fill('new', 2, 'old');
SELECT pg_temp.fill('new', 2, 'young');
SELECT partition, messages FROM pg_temp.take('new', 'g');
SELECT partition, messages FROM pg_temp.take('new', 'by pop');
-- Emptied partitions: from where they stand.
SELECT queen.purge('new');
SELECT queen.subscribe('new', 'after purge', 'new');
SELECT pg_temp.fill('new', 2, 'emptied');
SELECT partition, messages FROM pg_temp.take('new', 'after purge');
SELECT partition, messages FROM pg_temp.take('new', 'all after purge');

--
-- timestamp: from the first segment that is not older
--
SELECT queen.create_queue('time');
SELECT pg_temp.fill('time', 2, 'a');
SELECT pg_temp.fill('time', 2, 'a');
SELECT pg_temp.fill('time', 2, 'a');
SELECT array_agg(s.created_at ORDER BY base_offset) AS at, count(DISTINCT s.created_at)
  FROM queen.segment s JOIN queen.partitions USING (partition_id) WHERE queue = 'time' \gset
\echo :count
CREATE TEMP TABLE times AS
	SELECT at[n] - '1 microsecond'::interval * before AS at, format('%s%s', n, case before when 1 then ' before' when -1 then ' after' end) AS name
	  FROM (SELECT :'at'::timestamptz[] AS at) t, generate_series(1, 3) n, generate_series(-1, 1) before
	UNION ALL SELECT at[2] + (at[3] - at[2]) / 2, '2 to 3' FROM (SELECT :'at'::timestamptz[] AS at) t
	UNION ALL SELECT '2001-01-01', '0 long before'
	UNION ALL SELECT clock_timestamp() + '1 hour', '4 in an hour';
SELECT count(queen.subscribe('time', name, 'timestamp', at)) FROM times;
SELECT name, c.committed, c.behind,
	   (SELECT min(message_offset) FROM queen.pop('time', name)) AS first,
	   (SELECT min(message_offset) FROM queen.pop('time', name || ' by pop', subscription_from => at)) AS first_by_pop
  FROM times JOIN queen.cursors c ON c.queue = 'time' AND c.consumer_group = name ORDER BY name;
-- What is pushed from then on comes, in partitions of every age; what an hour has to pass for does not.
SELECT pg_temp.fill('time', 2, 'a'), pg_temp.fill('time', 2, 'b');
SELECT name, p.partition, p.messages FROM times, pg_temp.take('time', name) p
 WHERE name IN ('2 to 3', '3 after', '4 in an hour') ORDER BY 1, 2;
SELECT partition, behind FROM queen.cursors WHERE queue = 'time' AND consumer_group = '4 in an hour' ORDER BY 1;
SELECT subscription_mode, subscription_from = at AS kept FROM times JOIN queen.consumer_groups ON queue = 'time' AND consumer_group = name
 GROUP BY 1, 2;
-- A group's time is searched among a thousand segments.
SELECT queen.create_queue('times');
SELECT count(queen.push('times', to_jsonb(n))) FROM generate_series(0, 999) n;
CREATE TEMP TABLE segments AS SELECT base_offset, s.created_at
  FROM queen.segment s JOIN queen.partitions USING (partition_id) WHERE queue = 'times';
SELECT count(*) AS searched, bool_and((SELECT min(s.base_offset) FROM segments s WHERE s.created_at >= a.created_at) IS NOT DISTINCT FROM
	(SELECT message_offset FROM queen.pop('times', 'g' || base_offset, batch => 1, subscription_from => created_at))) AS right
  FROM segments a WHERE base_offset % 37 = 0 OR base_offset IN (1, 998, 999);
SELECT queen.drop_queue('times', true);

--
-- unsubscribe removes the group, its cursors and its leases
--
SELECT queen.create_queue('leave');
SELECT pg_temp.fill('leave', 4, 'a');
SELECT pg_temp.fill('leave', 4, 'b');
SELECT partition, messages FROM pg_temp.take('leave', 'stays', batch => 1, partition => 'a');
SELECT lease AS l FROM pg_temp.take('leave', 'goes', partition => 'a') \gset
SELECT lease AS done FROM pg_temp.take('leave', 'goes', partition => 'b') \gset
SELECT queen.ack(:'done');
SELECT queen.nack(:'l');
SELECT lease AS l FROM pg_temp.take('leave', 'late', batch => 2, partition => 'a') \gset
SELECT group_id AS stays FROM queen.cursors WHERE queue = 'leave' AND consumer_group = 'stays' AND partition = 'a' \gset
SELECT queen.unsubscribe('leave', 'goes');
SELECT queen.unsubscribe('leave', 'late');
SELECT pg_temp.fails(format('SELECT queen.ack(%L)', :'l'));
SELECT pg_temp.fails(format('SELECT queen.nack(%L)', :'l'));
SELECT pg_temp.fails(format('SELECT queen.renew(%L)', :'l'));
SELECT pg_temp.fails(format('SELECT queen.ack(%L)', :'done'));
SELECT state, messages FROM queen.ack_leases(array[:'l', :'done']::uuid[]);
SELECT consumer_group, partition, committed, has_lease FROM queen.cursors WHERE queue = 'leave' ORDER BY 1, 2;
SELECT count(DISTINCT group_id) FROM queen.cursor JOIN queen.partitions USING (partition_id) WHERE queue = 'leave';
-- Made again it starts fresh, with another mode if it likes; the old leases stay lost.
SELECT partition, messages FROM pg_temp.take('leave', 'goes');
SELECT pg_temp.fails(format('SELECT queen.ack(%L)', :'done'));
SELECT queen.subscribe('leave', 'late', 'new');
SELECT count(*) FROM queen.pop('leave', 'late');
SELECT pg_temp.fails(format('SELECT queen.ack(%L)', :'l'));
-- In one transaction, and undone.
BEGIN;
SELECT queen.unsubscribe('leave', 'stays');
SELECT messages FROM pg_temp.take('leave', 'stays', partition => 'a');
ROLLBACK;
SELECT committed, lease_start, lease_end, group_id = :stays AS same_group FROM queen.cursors
 WHERE queue = 'leave' AND consumer_group = 'stays' AND partition = 'a';
-- Dead letters stay.
SELECT lease AS l FROM pg_temp.take('leave', 'dies', batch => 1, partition => 'a') \gset
SELECT queen.reject(:'l');
SELECT queen.unsubscribe('leave', 'dies');
SELECT partition, consumer_group, message_offset, payload FROM queen.dead_letters WHERE queue = 'leave';
SELECT pg_temp.fails($$SELECT queen.unsubscribe('leave', 'dies')$$);
SELECT pg_temp.fails($$SELECT queen.unsubscribe('leave', 'never was')$$);
SELECT pg_temp.fails($$SELECT queen.unsubscribe('no such queue', 'g')$$);

--
-- Numbers, half of the tag of the cursors' locks, are the lowest ones free
--
SELECT queen.create_queue('number');
SELECT count(queen.subscribe('number', 'g' || n)) FROM generate_series(1, 5) n;
SELECT queen.unsubscribe('number', 'g2');
SELECT queen.unsubscribe('number', 'g4');
SELECT count(queen.subscribe('number', 'h' || n)) FROM generate_series(1, 3) n;
SELECT string_agg(g.name || ':' || number, ' ' ORDER BY number) AS numbers FROM queen.consumer_group g JOIN queen.queue q USING (queue_id)
 WHERE q.name = 'number';
-- A thousand groups on one message.
SELECT FROM queen.push('number', '1');
SELECT count(*) FROM generate_series(1, 1000) n, queen.pop('number', 'many' || n, auto_ack => true);
SELECT count(DISTINCT number), min(number), max(number) FROM queen.consumer_group g JOIN queen.queue q USING (queue_id)
 WHERE q.name = 'number';

--
-- What is refused
--
SELECT argument, pg_temp.fails(format($$SELECT queen.subscribe('groups', 'refused', %s)$$, argument)) AS subscribe,
	   pg_temp.fails(format($$SELECT queen.subscribe('groups', 'refused', %s)$$, argument)) =
	   pg_temp.fails(format($$SELECT FROM queen.pop('groups', 'refused', subscription_mode => %s)$$,
							replace(argument, ', ', ', subscription_from => '))) AS pop_says_so_too
  FROM unnest(array['''latest''', '''NEW''', '''''', 'NULL', '''timestamp''', '''timestamp'', NULL', '''new'', now()',
					'''timestamp'', ''infinity''', '''timestamp'', ''-infinity''']) argument;
-- A bad mode is refused for a group that exists, too.
SELECT pg_temp.fails($$SELECT FROM queen.pop('groups', 'g1', subscription_mode => 'latest')$$);
SELECT pg_temp.fails($$SELECT queen.subscribe('groups', '')$$);
SELECT pg_temp.fails($$SELECT queen.subscribe('groups', NULL)$$);
SELECT pg_temp.fails($$SELECT queen.subscribe('groups', repeat('g', 256))$$);
SELECT pg_temp.fails($$SELECT queen.subscribe('groups', E'tab\there')$$);
SELECT pg_temp.fails($$SELECT queen.subscribe('no such queue', 'g')$$);
SELECT pg_temp.fails($$SELECT queen.unsubscribe('groups', NULL)$$);
SELECT pg_temp.fails($$SELECT queen.unsubscribe(NULL, 'g')$$);
BEGIN READ ONLY;
SELECT pg_temp.fails($$SELECT queen.subscribe('groups', 'read only')$$);
SELECT pg_temp.fails($$SELECT queen.unsubscribe('groups', 'g1')$$);
ROLLBACK;
SELECT count(*) FROM queen.consumer_groups WHERE queue = 'groups' AND consumer_group IN ('refused', 'read only', '');

SELECT count(queen.drop_queue(queue, true)) FROM queen.queues;
SELECT (SELECT count(*) FROM queen.consumer_group) + (SELECT count(*) FROM queen.cursor) AS left;
