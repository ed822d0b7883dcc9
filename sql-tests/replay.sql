-- replay: copies of a range in another queue, what they keep, range edges, refusals, rights.
\set QUIET on
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS queen;
-- The error of a statement, its SQLSTATE first. What it changed is undone.
CREATE FUNCTION pg_temp.fails(command text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	why text;
BEGIN
	EXECUTE command;
	RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS why = PG_EXCEPTION_DETAIL;
	RETURN SQLSTATE || ': ' || SQLERRM || coalesce(' (' || nullif(why, '') || ')', '');
END $$;
CREATE FUNCTION pg_temp.fill(queue text, messages int, partition text DEFAULT NULL) RETURNS void LANGUAGE sql AS $$
	SELECT queen.push_batch($1, jsonb_agg(jsonb_build_object('n', n) ORDER BY n), $3) FROM generate_series(0, $2 - 1) n
$$;
RESET client_min_messages;

SELECT queen.create_queue('from', dedup_window => '0'), queen.create_queue('to');
-- Bodies of all kinds, with and without a transaction id and headers; one of them twice.
SELECT FROM queen.push('from', '{"b" : 1, "a":1e2, "a":9007199254740993}', 'lane', transaction_id => 'order 1', headers => '{"trace": "x", "retry-count": 2}');
SELECT FROM queen.push('from', '\x00ff10'::bytea, 'lane', transaction_id => 'order 1');
SELECT FROM queen.push('from', 'null', 'lane', headers => '{}');
SELECT FROM queen.push('from', '"déjà vu"', 'lane');
SELECT FROM queen.push('from', ''::bytea, 'lane');
SELECT pg_temp.fill('from', 5, 'other');
SELECT count(*) FROM queen.pop('from', 'g', 2, partition => 'lane', auto_ack => true);
SELECT lease AS l FROM queen.pop('from', 'g', 2, partition => 'lane') LIMIT 1 \gset
CREATE TEMP TABLE original AS SELECT * FROM queen.pop('from', 'look', auto_ack => true);
CREATE TEMP TABLE before AS SELECT c.* FROM queen.cursor c;

SELECT queen.replay('from', 'lane', 0, 4, 'to');
SELECT partition, first_offset, next_offset FROM queen.partitions WHERE queue = 'to';
-- Partition name, body and transaction id are the original's, the derived ones, too.
CREATE TEMP TABLE copy AS SELECT * FROM queen.pop('to', 'look', auto_ack => true);
SELECT c.message_offset, c.payload, c.body, c.headers, o.partition = c.partition AS lane, o.transaction_id = c.transaction_id AS id,
	   o.payload::text IS NOT DISTINCT FROM c.payload::text AND o.body IS NOT DISTINCT FROM c.body AS body_same, c.created_at >= o.created_at AS later
  FROM copy c JOIN original o USING (partition, message_offset) ORDER BY 1;
SELECT transaction_id FROM copy WHERE transaction_id LIKE 'order%' ORDER BY message_offset;
-- No cursor moved, no lease was broken; a copy of a copy names the queue it comes from.
SELECT count(*) FROM (SELECT * FROM before EXCEPT ALL SELECT * FROM queen.cursor) changed;
SELECT queen.ack(:'l');
SELECT queen.create_queue('again');
SELECT queen.replay('to', 'lane', 0, 0, 'again');
SELECT message_offset, payload, headers, transaction_id FROM queen.pop('again');

-- Both ends are included.
SELECT f, t, pg_temp.fails(format('SELECT 1 / (queen.replay(''from'', ''lane'', %s, %s, ''to'') - %s - 1 + %s)', f, t, t, f)) = '22012: division by zero' AS "right"
  FROM (VALUES (0, 0), (4, 4), (1, 3), (3, 4), (0, 4)) r(f, t);
SELECT queen.replay('from', 'lane', 3, 4, 'again');
SELECT message_offset, headers FROM queen.pop('again', 'h', auto_ack => true);
-- Twice is twice: deduplication is not applied.
SELECT queen.replay('from', 'lane', 0, 0, 'to');
SELECT queen.replay('from', 'lane', 0, 0, 'to');
SELECT message_offset, transaction_id FROM queen.pop('to', 'look', auto_ack => true);
SELECT f, t, pg_temp.fails(format('SELECT queen.replay(''from'', ''lane'', %s, %s, ''to'')', f, t))
  FROM (VALUES (-1, 4), (0, 5), (5, 5), (4, 3), (5, 4), (-9223372036854775808, 9223372036854775807)) r(f, t);
-- What was removed is not there.
SELECT queen.create_queue('purged');
SELECT pg_temp.fill('purged', 3, 'p'), queen.purge('purged'), pg_temp.fill('purged', 3, 'p');
SELECT pg_temp.fails('SELECT queen.replay(''purged'', ''p'', 2, 4, ''to'')');
SELECT queen.replay('purged', 'p', 3, 5, 'to');
SELECT array_agg(message_offset), array_agg(payload::text), min(headers::text) FROM queen.pop('to', 'look', auto_ack => true);

-- Many segments, in chunks; a body that is larger than a chunk; headers as large as a push takes them.
SELECT queen.create_queue('many');
SELECT count(queen.push('many', to_jsonb(n), 'p')) FROM generate_series(0, 1499) n;
SELECT pg_temp.fill('many', 1600, 'p');
SELECT FROM queen.push('many', to_jsonb(repeat('x', 3000000)), 'p', headers => jsonb_build_object('h', repeat('h', 65000)));
SELECT queen.replay('many', 'p', 0, 3100, 'again');
SELECT count(*), min(message_offset), max(message_offset) FROM queen.pop('again', 'all', 10000, partition => 'p');
SELECT count(*) AS different FROM queen.pop('many', 'a', 10000) a FULL JOIN queen.pop('again', 'b', 10000, partition => 'p') b USING (message_offset)
 WHERE a.payload::text IS DISTINCT FROM b.payload::text OR a.transaction_id IS DISTINCT FROM b.transaction_id
	OR (b.headers->'replayed-from'->>'offset')::bigint IS DISTINCT FROM message_offset OR a.headers->'h' IS DISTINCT FROM b.headers->'h';

-- The target's limits hold; a refused replay leaves nothing.
SELECT queen.create_queue('small', max_backlog => 1200);
SELECT pg_temp.fails('SELECT queen.replay(''many'', ''p'', 0, 1200, ''small'')');
SELECT count(*) FROM queen.partitions WHERE queue = 'small';
SELECT queen.replay('many', 'p', 0, 1199, 'small');
SELECT pg_temp.fails('SELECT queen.replay(''many'', ''p'', 0, 0, ''small'')');

-- Refusals; no queue is made, whatever the setting says.
SET queen.auto_create_queue = on;
SELECT c, pg_temp.fails(format('SELECT queen.replay(%s)', c)) FROM unnest(array[
	'NULL, ''lane'', 0, 1, ''to''', '''from'', NULL, 0, 1, ''to''', '''from'', ''lane'', NULL, 1, ''to''', '''from'', ''lane'', 0, NULL, ''to''',
	'''from'', ''lane'', 0, 1, NULL', '''nowhere'', ''lane'', 0, 1, ''to''', '''from'', ''nowhere'', 0, 1, ''to''', '''from'', ''lane'', 0, 1, ''nowhere''',
	'''from'', ''lane'', 0, 1, ''from''', ''''', ''lane'', 0, 1, ''to''', '''from'', '''', 0, 1, ''to''']) c;
RESET queen.auto_create_queue;
SELECT count(*) FROM queen.queues WHERE queue = 'nowhere';
BEGIN READ ONLY;
SELECT pg_temp.fails('SELECT queen.replay(''from'', ''lane'', 0, 1, ''to'')');
ROLLBACK;
-- It rolls back as a push does.
SELECT next_offset FROM queen.partitions WHERE queue = 'to' AND partition = 'lane' \gset
BEGIN;
SELECT queen.replay('from', 'lane', 0, 4, 'to');
ROLLBACK;
SELECT next_offset - :next_offset AS left_behind FROM queen.partitions WHERE queue = 'to' AND partition = 'lane';

-- Rights on both queues.
CREATE ROLE queen_replay_other;
GRANT CREATE ON SCHEMA queen TO queen_replay_other;
SET ROLE queen_replay_other;
SELECT queen.create_queue('mine');
SELECT FROM queen.push('mine', '1', 'lane');
SELECT pg_temp.fails('SELECT queen.replay(''from'', ''lane'', 0, 1, ''mine'')'), pg_temp.fails('SELECT queen.replay(''mine'', ''lane'', 0, 0, ''to'')');
SELECT queen.create_queue('mine too');
SELECT queen.replay('mine', 'lane', 0, 0, 'mine too');
RESET ROLE;
SELECT count(queen.drop_queue(queue, true)) FROM queen.queues;
DROP OWNED BY queen_replay_other;
DROP ROLE queen_replay_other;
