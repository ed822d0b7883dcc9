-- push: what it takes, what it refuses, and what a transaction makes of it.
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
	RETURN SQLSTATE || ': ' || left(SQLERRM, 100) || coalesce(' (' || nullif(why, '') || ')', '');
END $$;
-- Offsets of a partition, hole or not: messages read from the beginning by a group of its own.
CREATE FUNCTION pg_temp.log(queue text, partition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
BEGIN
	SELECT string_agg(p.message_offset || '=' || p.payload, ' ' ORDER BY p.message_offset) INTO answer
	  FROM queen.pop($1, 'log ' || random(), 100000, partition => $2, auto_ack => true) p;
	RETURN answer;
END $$;
RESET client_min_messages;
\set QUIET off
SELECT queen.create_queue('orders');
--
-- The answer, and payloads of every type by the one signature
--
SELECT * FROM queen.push('orders', '{"a": 1}', 'p');
SELECT * FROM queen.push('orders', '{"a": 2}'::text, 'p');
SELECT * FROM queen.push('orders', '{"a": 3}'::varchar, 'p');
SELECT * FROM queen.push('orders', '{"a": 4}'::json, 'p');
SELECT * FROM queen.push('orders', '{"a": 5}'::jsonb, 'p');
SELECT * FROM queen.push('orders', to_jsonb('six'::text), 'p');
SELECT * FROM queen.push('orders', '\x0700'::bytea, 'p');
SELECT * FROM queen.push('orders', '\x0800', 'p');
PREPARE untyped AS SELECT * FROM queen.push($1, $2, $3);
EXECUTE untyped('orders', '{"a": 9}', 'p');
SELECT pg_temp.fails($$EXECUTE untyped('orders', '{"a": ', 'p')$$);
SELECT pg_temp.fails($$EXECUTE untyped('orders', NULL, 'p')$$);
DEALLOCATE untyped;
SELECT * FROM queen.push(partition => 'p', payload => '10', queue => 'orders', headers => '{"h": [1]}', transaction_id => 'tx 10');
SELECT message_offset, payload, body, headers, transaction_id = 'tx 10' AS own_id FROM queen.pop('orders', 'types', partition => 'p');
SELECT '{"a": 1}'::queen.payload, '\x00ff'::queen.payload, '\x00ff'::bytea::queen.payload, 'null'::queen.payload;
--
-- Lanes of pushes that name none
--
SELECT * FROM queen.push('orders', '1');
SELECT queen.alter_queue('orders', partitions => 3);
-- In turn: each of three in any three that follow each other.
SELECT count(DISTINCT (queen.push('orders', '1')).partition) FROM generate_series(1, 3);
SELECT DISTINCT partition FROM queen.partitions WHERE queue = 'orders' AND partition <> 'p' ORDER BY 1;
-- By the transaction id: one lane for one id, several for several.
SELECT count(DISTINCT (queen.push('orders', '1', transaction_id => 'same')).partition) FROM generate_series(1, 20);
SELECT count(DISTINCT (queen.push('orders', '1', transaction_id => 'id ' || n)).partition) FROM generate_series(1, 100) n;
-- push_items chooses as push does.
SELECT count(*) FROM generate_series(1, 100) n, queen.push('orders', '1', transaction_id => 'id ' || n) p,
	   LATERAL queen.push_items('orders', jsonb_build_array(jsonb_build_object('payload', 1, 'transactionId', 'id ' || n))) i WHERE i.partition <> p.partition;
--
-- Refused, and nothing made
--
CREATE TEMP TABLE before AS SELECT (SELECT count(*) FROM queen.queue) AS queues, (SELECT count(*) FROM queen.partition) AS partitions, (SELECT count(*) FROM queen.segment) AS segments;
SELECT pg_temp.fails($$SELECT queen.push('none', '1')$$);
SELECT pg_temp.fails($$SELECT queen.push(NULL, '1')$$);
SELECT pg_temp.fails($$SELECT queen.push('orders', NULL)$$);
SELECT pg_temp.fails($$SELECT queen.push('orders', NULL::jsonb)$$);
SELECT pg_temp.fails($$SELECT queen.push('', '1')$$);
SELECT pg_temp.fails($$SELECT queen.push('orders', '1', '')$$);
SELECT pg_temp.fails($$SELECT queen.push('orders', '1', E'a\tb')$$);
SELECT pg_temp.fails($$SELECT queen.push('orders', '1', E'a\x1f')$$);
SELECT pg_temp.fails($$SELECT queen.push('orders', '1', E'a\x7f')$$);
SELECT pg_temp.fails($$SELECT queen.push('orders', '1', repeat('x', 256))$$);
SELECT pg_temp.fails($$SELECT queen.push('orders', '1', repeat('ä', 128))$$);
SELECT pg_temp.fails($$SELECT queen.push('orders', '1', repeat('x', 1000000))$$);
SELECT pg_temp.fails($$SELECT queen.push(repeat('x', 1000000), '1')$$);
SELECT pg_temp.fails($$SELECT queen.push('orders', '')$$);
SELECT pg_temp.fails($$SELECT queen.push('orders', '{"a":')$$);
SELECT pg_temp.fails($$SELECT queen.push('orders', '{"a":'::text)$$);
SELECT pg_temp.fails($$SELECT queen.push('orders', '[1,]'::varchar)$$);
SELECT pg_temp.fails($$SELECT queen.push('orders', '1 2')$$);
SELECT pg_temp.fails($$SELECT queen.push('orders', '\x0')$$);
SELECT pg_temp.fails($$SELECT queen.push('orders', repeat('[', 100000))$$) ~ '^(54001|22P02)' AS deep_is_refused;
SELECT pg_temp.fails($$SELECT queen.push('orders', '1', 'p', '')$$);
SELECT pg_temp.fails($$SELECT queen.push('orders', '1', 'p', repeat('x', 1025))$$);
SELECT pg_temp.fails($$SELECT queen.push('orders', '1', 'p', headers => '[1]')$$);
SELECT pg_temp.fails($$SELECT queen.push('orders', '1', 'p', headers => 'null')$$);
SELECT pg_temp.fails($$SELECT queen.push('orders', '1', 'p', headers => jsonb_build_object('h', repeat('x', 65528)))$$);
SELECT pg_temp.fails($$SELECT queen.push('orders', '1', 'p', headers => '"h"')$$);
SET queen.max_message_bytes = '1kB';
SELECT pg_temp.fails($$SELECT queen.push('orders', to_jsonb(repeat('x', 1023)), 'p')$$);
SELECT pg_temp.fails($$SELECT queen.push('orders', decode(repeat('00', 1025), 'hex'), 'p')$$);
SELECT * FROM queen.push('orders', to_jsonb(repeat('x', 1022)), 'largest allowed');
SELECT * FROM queen.push('orders', decode(repeat('00', 1024), 'hex'), 'largest allowed');
RESET queen.max_message_bytes;
BEGIN READ ONLY;
SELECT pg_temp.fails($$SELECT queen.push('orders', '1', 'p')$$);
ROLLBACK;
SELECT (SELECT count(*) FROM queen.queue) - queues AS queues, (SELECT count(*) FROM queen.partition) - partitions AS partitions, (SELECT count(*) FROM queen.segment) - segments AS segments FROM before;
-- The longest that are allowed.
SELECT length((queen.push('orders', '1', repeat('x', 255), repeat('y', 1024))).partition);
SELECT octet_length((queen.push('orders', '1', repeat('ä', 127) || 'x', repeat('ä', 512))).partition);
SELECT status FROM queen.push('orders', '1', 'a b/ä"''\', headers => jsonb_build_object('h', repeat('x', 65527)));
SELECT octet_length(headers::text) FROM queen.pop('orders', 'longest', partition => 'a b/ä"''\', auto_ack => true);
--
-- A queue made by a push, where that is allowed
--
SET queen.auto_create_queue = on;
SELECT * FROM queen.push('made by push', '1');
SELECT * FROM queen.push('made by push', '2');
-- None is made by a push that fails or is rolled back, and none by anything but a push.
SELECT pg_temp.fails($$SELECT queen.push('not made', '1', headers => '1')$$), pg_temp.fails($$SELECT queen.push_batch('not made', '[')$$);
SELECT pg_temp.fails($$SELECT queen.push_items('not made', '[1]')$$), pg_temp.fails($$SELECT queen.push('', '1')$$);
BEGIN;
SELECT * FROM queen.push('not made', '1');
ROLLBACK;
SELECT pg_temp.fails($$SELECT * FROM queen.pop('not made')$$), pg_temp.fails($$SELECT queen.subscribe('not made', 'g')$$);
SELECT count(*) FROM queen.queues WHERE queue = 'not made';
RESET queen.auto_create_queue;
SELECT partitions, max_deliveries, owner = current_user::regrole AS mine FROM queen.queues WHERE queue = 'made by push';
SELECT queen.drop_queue('made by push', true);
--
-- Transactions: a rollback of any kind leaves no hole
--
BEGIN;
SELECT message_offset FROM queen.push('orders', '"gone"', 'tx');
SELECT message_offset FROM queen.push('orders', '"gone"', 'tx');
ROLLBACK;
SELECT message_offset FROM queen.push('orders', '"first"', 'tx');
BEGIN;
SELECT message_offset FROM queen.push('orders', '"kept"', 'tx');
SAVEPOINT s;
SELECT message_offset FROM queen.push('orders', '"gone"', 'tx');
SELECT message_offset FROM queen.push('orders', '"gone"', 'new in savepoint');
ROLLBACK TO s;
SELECT message_offset FROM queen.push('orders', '"after"', 'tx');
SELECT message_offset FROM queen.push('orders', '"again"', 'new in savepoint');
COMMIT;
SELECT pg_temp.fails($$SELECT queen.push('orders', '"gone"', 'tx'), 1 / (n - 3) FROM generate_series(1, 5) n$$);
SELECT message_offset FROM queen.push('orders', '"last"', 'tx');
SELECT pg_temp.log('orders', 'tx'), pg_temp.log('orders', 'new in savepoint');
-- A partition made in a subtransaction that failed, and again after it.
BEGIN;
SELECT pg_temp.fails($$SELECT queen.push('orders', '"gone"', 'new in failure'), 1 / 0$$) ~ '^22012' AS failed;
SELECT message_offset FROM queen.push('orders', '"one"', 'new in failure');
SELECT pg_temp.fails($$SELECT queen.push('orders', '"gone"', 'new in failure'), 1 / (n - 2) FROM generate_series(1, 3) n$$) ~ '^22012' AS failed;
SELECT message_offset FROM queen.push('orders', '"two"', 'new in failure');
COMMIT;
SELECT pg_temp.log('orders', 'new in failure');
-- A partition made in a transaction that was rolled back, and again by each verb.
BEGIN;
SELECT message_offset FROM queen.push('orders', '"gone"', 'new in rollback');
ROLLBACK;
SELECT first_offset FROM queen.push_batch('orders', '["one"]', 'new in rollback');
SELECT message_offset FROM queen.push_items('orders', '[{"payload": "two", "partition": "new in rollback"}]');
SELECT message_offset FROM queen.push('orders', '"three"', 'new in rollback');
SELECT pg_temp.log('orders', 'new in rollback');
-- Push, pop and ack in one transaction that rolls back: nothing of it is left.
BEGIN;
SELECT message_offset FROM queen.push('orders', '"gone"', 'all in one');
SELECT message_offset, payload, delivery, queen.ack(lease) FROM queen.pop('orders', 'all in one', partition => 'all in one');
ROLLBACK;
SELECT count(*) FROM queen.partitions WHERE partition = 'all in one';
SELECT count(*) FROM queen.consumer_groups WHERE consumer_group = 'all in one';
SELECT message_offset FROM queen.push('orders', '"kept"', 'all in one');
SELECT message_offset, payload, delivery, queen.ack(lease) FROM queen.pop('orders', 'all in one', partition => 'all in one');
-- No lock is left over.
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid();
-- Two in one transaction, in each isolation level.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM queen.partitions WHERE partition = 'rr';
SELECT message_offset FROM queen.push('orders', '1', 'rr');
SELECT message_offset FROM queen.push('orders', '2', 'rr');
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT message_offset FROM queen.push('orders', '3', 'rr');
SELECT message_offset FROM queen.push('orders', '4', 'rr');
COMMIT;
SELECT pg_temp.log('orders', 'rr');
--
-- A push from a row trigger: the transactional outbox
--
CREATE TEMP TABLE shop (id int, customer text);
CREATE FUNCTION pg_temp.outbox() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM queen.push('orders', to_jsonb(new), 'customer ' || new.customer);
	RETURN NULL;
END $$;
CREATE TRIGGER outbox AFTER INSERT ON shop FOR EACH ROW EXECUTE FUNCTION pg_temp.outbox();
INSERT INTO shop SELECT n, n % 3 FROM generate_series(1, 1000) n;
SELECT partition, messages FROM queen.partitions WHERE partition LIKE 'customer%' ORDER BY 1;
SELECT count(*), bool_and((payload ->> 'id')::int = message_offset * 3 + 3) AS in_order
  FROM queen.pop('orders', 'trigger', 1000, partition => 'customer 0', auto_ack => true);
BEGIN;
INSERT INTO shop SELECT n, n % 3 FROM generate_series(1, 100) n;
ROLLBACK;
SELECT partition, messages FROM queen.partitions WHERE partition LIKE 'customer%' ORDER BY 1;
--
-- Time does not run backward in a partition, whatever the clock does
--
SELECT message_offset FROM queen.push('orders', '1', 'clock');
UPDATE queen.segment SET created_at = 'tomorrow' WHERE partition_id = (SELECT partition_id FROM queen.partitions WHERE partition = 'clock');
SELECT message_offset FROM queen.push('orders', '2', 'clock');
SELECT message_offset, created_at >= 'tomorrow' AS not_before_the_tail FROM queen.pop('orders', 'clock', partition => 'clock', auto_ack => true);
-- In no partition of all above is a segment older than the one before it, or a hole between them.
SELECT count(*) > 20 AS many, bool_and(coalesce(created_at >= older, true)) AS in_time, bool_and(coalesce(base_offset = next, base_offset = 0)) AS no_hole
  FROM (SELECT s.created_at, s.base_offset, lag(s.created_at) OVER w AS older, lag(s.base_offset + s.message_count) OVER w AS next
		  FROM queen.segment s JOIN queen.partitions p USING (partition_id) WHERE p.queue = 'orders' WINDOW w AS (PARTITION BY s.partition_id ORDER BY s.base_offset)) x;
SELECT queen.drop_queue('orders', true);
--
-- Each queue has its own turns: pushes to two of them by one session use all lanes of both
--
SELECT queen.create_queue('one', partitions => 2), queen.create_queue('two', partitions => 2);
SELECT count(*) FROM (SELECT queen.push('one', '1'), queen.push('two', '1'), queen.push('two', '1', transaction_id => 'id') FROM generate_series(1, 20)) x;
SELECT queue, count(*) AS lanes, min(messages) >= 10 AS even FROM queen.partitions WHERE queue IN ('one', 'two') GROUP BY 1 ORDER BY 1;
SELECT queen.drop_queue('one', true), queen.drop_queue('two', true);
--
-- The names of the answer's columns are those of the script
--
SELECT queen.create_queue('answers');
SELECT p.proname, array_agg(a.name::text ORDER BY a.n) FILTER (WHERE a.mode = 'o') =
	   CASE p.proname WHEN 'push' THEN (SELECT array_agg(k ORDER BY n) FROM json_object_keys(to_json(queen.push('answers', '1'))) WITH ORDINALITY AS x (k, n))
	   ELSE (SELECT array_agg(k ORDER BY n) FROM json_object_keys(to_json(queen.push_batch('answers', '[1]'))) WITH ORDINALITY AS x (k, n)) END AS same
  FROM pg_proc p, unnest(p.proargnames, p.proargmodes) WITH ORDINALITY AS a (name, mode, n)
 WHERE p.pronamespace = 'queen'::regnamespace AND p.proname IN ('push', 'push_batch') GROUP BY 1 ORDER BY 1;
SELECT queen.drop_queue('answers', true);
--
-- What is JSON is for the server to say: texts with random damage are taken, or refused in the same words, as by type json
--
CREATE FUNCTION pg_temp.judge(body text, type regtype) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	why text;
BEGIN
	EXECUTE format('SELECT ($1::%s)::text', type) INTO why USING body;
	RETURN CASE WHEN why = body THEN 'the same' ELSE why END;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS why = PG_EXCEPTION_DETAIL;
	RETURN concat_ws(' ', SQLSTATE, SQLERRM, why);
END $$;
CREATE FUNCTION pg_temp.damage(body text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	bytes text := E'"\\{}[],:0123456789eE+-.u aftnlrsé\t\n\x01x';
	place int;
BEGIN
	FOR i IN 1 .. floor(random() * 3) LOOP
		place := floor(random() * length(body));
		body := overlay(body PLACING CASE WHEN random() < 0.3 THEN '' ELSE substr(bytes, 1 + floor(random() * length(bytes))::int, 1) END
						FROM place + 1 FOR floor(random() * 2)::int);
	END LOOP;
	RETURN body;
END $$;
SELECT setseed(0.25);
WITH damaged AS MATERIALIZED (
	SELECT pg_temp.damage(b.body) AS body
	  FROM unnest(ARRAY['{"order": "12345678", "sku": ["A-1", "b\u00e9\n"], "price": -45.67e+2, "ok": true, "x": null}',
						'[[1, 20, -3.5], {"a": {"b": []}}, "long enough for sixteen bytes at a time, é", false, {}]',
						'"\"\\\/\b\f\n\r\t\uD83D\ude00"', '-0.5E-1', ' [ ] ', 'true', '""', repeat('[', 64) || repeat(']', 64), repeat('[', 70) || repeat(']', 70)]) AS b (body),
		   generate_series(1, 400))
SELECT count(*) FILTER (WHERE j = p) = count(*) AS agreed, count(*) FILTER (WHERE j = 'the same') > 500 AS some_good, count(*) FILTER (WHERE j <> 'the same') > 500 AS some_bad
  FROM damaged, pg_temp.judge(body, 'json') AS j, pg_temp.judge(body, 'queen.payload') AS p;
