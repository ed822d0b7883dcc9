-- push_deferred: what it takes and refuses, and what a transaction makes of it.
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
-- Offsets and payloads of a partition, read by a group of its own.
CREATE FUNCTION pg_temp.log(queue text, partition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
BEGIN
	SELECT string_agg(p.message_offset || '=' || coalesce(p.payload::text, p.body::text), ' ' ORDER BY p.message_offset) INTO answer
	  FROM queen.pop($1, 'log ' || random(), 100000, partition => $2, auto_ack => true) p;
	RETURN answer;
END $$;
-- Messages in each segment of a partition.
CREATE FUNCTION pg_temp.segments(queue text, partition text) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(message_count::text, ' ' ORDER BY base_offset) FROM queen.segment JOIN queen.partitions p USING (partition_id) WHERE p.queue = $1 AND p.partition = $2
$$;
-- Locks of queen that this session holds.
CREATE FUNCTION pg_temp.locks() RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(objsubid || ' ' || mode, ', ' ORDER BY objsubid) FROM pg_locks WHERE locktype = 'advisory' AND objsubid > 2 AND pid = pg_backend_pid()
$$;
RESET client_min_messages;
\set QUIET off
SELECT queen.create_queue('orders');
--
-- It answers the partition, takes every kind of payload, and appends at commit: one segment a partition
--
BEGIN;
SELECT queen.push_deferred('orders', '{"a": 1}', 'p');
SELECT queen.push_deferred('orders', '{"a":  2, "a": 2}'::text, 'p');
SELECT queen.push_deferred('orders', '{"a": 3}'::jsonb, 'p', headers => '{"h": 1}');
SELECT queen.push_deferred('orders', '\x00ff'::bytea, 'p', 'own id');
SELECT queen.push_deferred('orders', '"other"', 'ä日😀');
SELECT queen.push_deferred(partition => 'p', payload => '6', queue => 'orders', headers => '{}', transaction_id => 'id 6');
-- Nothing is there yet, and nothing but the queue is locked.
SELECT count(*) FROM queen.partitions;
SELECT pg_temp.locks();
COMMIT;
SELECT message_offset, payload, body, headers, transaction_id IN ('own id', 'id 6') AS own_id, delivery FROM queen.pop('orders', 'kinds', partition => 'p', auto_ack => true);
SELECT pg_temp.locks();
SELECT pg_temp.log('orders', 'ä日😀'), pg_temp.segments('orders', 'p');
-- A statement alone is a transaction.
SELECT queen.push_deferred('orders', '7', 'p');
SELECT count(DISTINCT queen.push_deferred('orders', to_jsonb(n), 'p')) FROM generate_series(8, 10) n;
SELECT pg_temp.segments('orders', 'p');
-- Lanes of those that name none: chosen as push does.
SELECT queen.push_deferred('orders', '1');
SELECT queen.alter_queue('orders', partitions => 3);
SELECT count(DISTINCT queen.push_deferred('orders', '1')) FROM generate_series(1, 3);
SELECT count(*) FROM generate_series(1, 100) n, queen.push('orders', '1', transaction_id => 'id ' || n) p WHERE p.partition <> queen.push_deferred('orders', '1', transaction_id => 'id ' || n);
SELECT queen.reset_queue_option('orders', 'partitions');
--
-- Refused at the call, and the transaction goes on without it
--
CREATE TEMP TABLE before AS SELECT count(*) AS partitions, sum(messages) AS messages FROM queen.partitions;
BEGIN;
SELECT pg_temp.fails($$SELECT queen.push_deferred('none', '1')$$);
SELECT pg_temp.fails($$SELECT queen.push_deferred(NULL, '1')$$);
SELECT pg_temp.fails($$SELECT queen.push_deferred('orders', NULL)$$);
SELECT pg_temp.fails($$SELECT queen.push_deferred('', '1')$$);
SELECT pg_temp.fails($$SELECT queen.push_deferred('orders', '1', '')$$);
SELECT pg_temp.fails($$SELECT queen.push_deferred('orders', '1', E'a\tb')$$);
SELECT pg_temp.fails($$SELECT queen.push_deferred('orders', '1', repeat('x', 256))$$);
SELECT pg_temp.fails($$SELECT queen.push_deferred('orders', '{')$$);
SELECT pg_temp.fails($$SELECT queen.push_deferred('orders', '1', 'p', '')$$);
SELECT pg_temp.fails($$SELECT queen.push_deferred('orders', '1', 'p', repeat('x', 1025))$$);
SELECT pg_temp.fails($$SELECT queen.push_deferred('orders', '1', 'p', headers => '[1]')$$);
SELECT pg_temp.fails($$SELECT queen.push_deferred('orders', '1', 'p', headers => jsonb_build_object('h', repeat('x', 65528)))$$);
SET LOCAL queen.max_message_bytes = '1kB';
SELECT pg_temp.fails($$SELECT queen.push_deferred('orders', decode(repeat('00', 1025), 'hex'), 'p')$$);
COMMIT;
BEGIN READ ONLY;
SELECT pg_temp.fails($$SELECT queen.push_deferred('orders', '1', 'p')$$);
COMMIT;
SELECT count(*) = partitions AS no_partition, sum(p.messages) = b.messages AS no_message FROM queen.partitions p, before b GROUP BY b.partitions, b.messages;
-- Not in a parallel worker, whatever a function around it says.
CREATE FUNCTION pg_temp.parallel(n int) RETURNS text LANGUAGE sql PARALLEL SAFE AS $$SELECT queen.push_deferred('orders', to_jsonb(n), 'parallel')$$;
CREATE TABLE deferred_rows AS SELECT n FROM generate_series(1, 10) n;
BEGIN;
SET LOCAL parallel_setup_cost = 0;
SET LOCAL parallel_tuple_cost = 0;
SET LOCAL min_parallel_table_scan_size = 0;
SET LOCAL parallel_leader_participation = off;
SELECT pg_temp.fails($$SELECT pg_temp.parallel(n) FROM deferred_rows$$);
ROLLBACK;
DROP TABLE deferred_rows;
SET queen.auto_create_queue = on;
BEGIN;
SELECT queen.push_deferred('made', '1', 'p');
SELECT count(*) FROM queen.queues WHERE queue = 'made';
COMMIT;
BEGIN;
SELECT queen.push_deferred('not made', '1', 'p');
ROLLBACK;
RESET queen.auto_create_queue;
SELECT pg_temp.log('made', 'p'), (SELECT count(*) FROM queen.queues WHERE queue = 'not made') AS not_made;
SELECT queen.drop_queue('made', true);
--
-- Savepoints: what was rolled back is not appended, order is the order of calls
--
BEGIN;
SELECT queen.push_deferred('orders', '"gone"', 'rolled back');
ROLLBACK;
BEGIN;
SELECT queen.push_deferred('orders', '1', 's');
SAVEPOINT a;
SELECT queen.push_deferred('orders', '"gone"', 's'), queen.push_deferred('orders', '"gone"', 'rolled back');
ROLLBACK TO a;
SELECT queen.push_deferred('orders', '2', 's');
SAVEPOINT b;
SELECT queen.push_deferred('orders', '"gone"', 's');
SAVEPOINT c;
SELECT queen.push_deferred('orders', '"gone, though released"', 's');
RELEASE c;
SELECT queen.push_deferred('orders', '"gone"', 's');
ROLLBACK TO b;
SAVEPOINT d;
SAVEPOINT e;
SELECT queen.push_deferred('orders', '3', 's');
RELEASE d;
SELECT queen.push_deferred('orders', '4', 's');
SAVEPOINT f;
SAVEPOINT g;
SELECT queen.push_deferred('orders', '"gone from an inner savepoint"', 's');
RELEASE g;
ROLLBACK TO f;
SELECT queen.push_deferred('orders', '5', 's');
COMMIT;
SELECT pg_temp.log('orders', 's'), pg_temp.segments('orders', 's');
-- A savepoint before the first one, and an error in the middle of a statement.
BEGIN;
SAVEPOINT a;
SELECT queen.push_deferred('orders', '"gone"', 'rolled back');
ROLLBACK TO a;
COMMIT;
BEGIN;
SELECT pg_temp.fails($$SELECT queen.push_deferred('orders', '"gone"', 't'), 1 / (n - 3) FROM generate_series(1, 5) n$$);
SELECT queen.push_deferred('orders', '1', 't');
SELECT pg_temp.fails($$SELECT queen.push_deferred('orders', '"gone"', 't'), 1 / (n - 3) FROM generate_series(1, 5) n$$);
COMMIT;
SELECT pg_temp.log('orders', 't'), (SELECT count(*) FROM queen.partitions WHERE partition = 'rolled back') AS rolled_back;
-- A cursor whose fetches are in different savepoints; one that is run at commit.
BEGIN;
DECLARE c CURSOR FOR SELECT queen.push_deferred('orders', to_jsonb(n), 'cursor') FROM generate_series(1, 5) n;
MOVE 2 IN c;
SAVEPOINT a;
MOVE 2 IN c;
ROLLBACK TO a;
MOVE 1 IN c;
DECLARE h CURSOR WITH HOLD FOR SELECT queen.push_deferred('orders', to_jsonb(n), 'held cursor') FROM generate_series(1, 3) n;
COMMIT;
FETCH ALL FROM h;
CLOSE h;
SELECT pg_temp.log('orders', 'cursor'), pg_temp.log('orders', 'held cursor');
--
-- A model: random nested blocks that fail or not, against a table; in memory, and with a buffer that spills
--
CREATE TABLE deferred_model (n bigint GENERATED ALWAYS AS IDENTITY, partition text, payload int);
CREATE FUNCTION pg_temp.block(queue text, depth int, width int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	p text;
	id int;
BEGIN
	FOR i IN 1..5 LOOP
		IF random() < 0.5 AND depth > 0 THEN
			BEGIN
				PERFORM pg_temp.block(queue, depth - 1, width);
				IF random() < 0.4 THEN
					RAISE EXCEPTION USING ERRCODE = 'UNDO0';
				END IF;
			EXCEPTION WHEN SQLSTATE 'UNDO0' THEN
				NULL;
			END;
		ELSE
			FOR j IN 1..1 + (random() * 3)::int LOOP
				p := 'm' || (random() * 4)::int;
				id := (random() * 1000000)::int;
				PERFORM queen.push_deferred(queue, to_jsonb(id || repeat(' ', width)), p);
				INSERT INTO deferred_model (partition, payload) VALUES (p, id);
			END LOOP;
		END IF;
	END LOOP;
END $$;
-- Whether queue and table say the same, and how much of it there is.
CREATE FUNCTION pg_temp.same(queue text) RETURNS text LANGUAGE sql AS $$
	SELECT (count(*) > 100) || ' ' || bool_and(m.payload IS NOT DISTINCT FROM q.payload) || ' ' || count(*) FILTER (WHERE q.message_offset IS NULL) || ' ' || count(*) FILTER (WHERE m.n IS NULL)
	  FROM (SELECT partition, row_number() OVER (PARTITION BY partition ORDER BY n) - 1 AS message_offset, n, payload FROM deferred_model) m
	  FULL JOIN (SELECT partition, message_offset, (payload #>> '{}')::int AS payload FROM queen.pop($1, 'model', 1000000, auto_ack => true)) q USING (partition, message_offset)
$$;
SELECT queen.create_queue('model'), setseed(0.5);
BEGIN;
SELECT count(pg_temp.block('model', 6, 1)) FROM generate_series(1, 20);
COMMIT;
SELECT pg_temp.same('model');
SELECT pg_temp.segments('model', 'm1') NOT LIKE '% %' AS one_segment;
TRUNCATE deferred_model;
SELECT queen.drop_queue('model', true), queen.create_queue('model');
SET queen.deferred_buffer = '64kB';
BEGIN;
SELECT count(pg_temp.block('model', 6, 1000)) FROM generate_series(1, 20);
SELECT count(*) > 0 AS spilled FROM pg_ls_tmpdir();
COMMIT;
SELECT pg_temp.same('model'), (SELECT count(*) FROM pg_ls_tmpdir()) AS files;
DROP TABLE deferred_model;
--
-- Beyond queen.deferred_buffer: the same result, by a temporary file
--
-- One segment for what fits in one; more where it does not; one message larger than the buffer.
BEGIN;
SELECT count(queen.push_deferred('model', to_jsonb(n || repeat('x', 400)), 'small ' || n % 3)) FROM generate_series(1, 1000) n;
SELECT queen.push_deferred('model', to_jsonb(repeat('y', 1000000)), 'large');
SELECT count(queen.push_deferred('model', to_jsonb(n || repeat('x', 400)), 'large')) FROM generate_series(1, 20000) n;
COMMIT;
SELECT pg_temp.segments('model', 'small 0'), pg_temp.segments('model', 'small 1'), pg_temp.segments('model', 'large') ~ '^1 12\d\d( 12\d\d)+ \d+' AS large;
SELECT bool_and((payload #>> '{}') = (message_offset * 3 + 3) || repeat('x', 400)) AS right FROM queen.pop('model', 'order', 1000000, partition => 'small 0');
SELECT bool_and((payload #>> '{}') = CASE message_offset WHEN 0 THEN repeat('y', 1000000) ELSE message_offset || repeat('x', 400) END) AS right, count(*) FROM queen.pop('model', 'order', 1000000, partition => 'large');
-- As many of the smallest as one segment holds.
BEGIN;
SELECT count(queen.push_deferred('model', '1', 'smallest')) FROM generate_series(1, 24000) n;
COMMIT;
SELECT pg_temp.segments('model', 'smallest');
-- A spilled savepoint is cut in the file, and its room is used again.
BEGIN;
SELECT count(queen.push_deferred('model', to_jsonb(n || repeat('a', 400)), 'cut')) FROM generate_series(1, 200) n;
SAVEPOINT a;
SELECT count(queen.push_deferred('model', to_jsonb(n || repeat('b', 400)), 'cut')), count(queen.push_deferred('model', '1', 'cut ' || n)) FROM generate_series(1, 1000) n;
ROLLBACK TO a;
SELECT count(queen.push_deferred('model', to_jsonb(n || repeat('c', 400)), 'cut')) FROM generate_series(201, 400) n;
SAVEPOINT b;
SELECT count(queen.push_deferred('model', to_jsonb(n || repeat('d', 400)), 'cut')) FROM generate_series(1, 20) n;
ROLLBACK TO b;
SELECT count(queen.push_deferred('model', to_jsonb(n || repeat('c', 400)), 'cut')) FROM generate_series(401, 410) n;
COMMIT;
SELECT bool_and((payload #>> '{}') = (message_offset + 1) || repeat(CASE WHEN message_offset < 200 THEN 'a' ELSE 'c' END, 400)) AS right, count(*) FROM queen.pop('model', 'order', 1000000, partition => 'cut');
SELECT count(*) FROM queen.partitions WHERE partition LIKE 'cut %';
-- All of it cut away: no append, and no file.
BEGIN;
SAVEPOINT a;
SELECT count(queen.push_deferred('model', to_jsonb(n || repeat('b', 400)), 'all cut')) FROM generate_series(1, 1000) n;
ROLLBACK TO a;
COMMIT;
SELECT (SELECT count(*) FROM queen.partitions WHERE partition = 'all cut') AS partitions, (SELECT count(*) FROM pg_ls_tmpdir()) AS files;
-- More partitions than queen.max_partition_locks, more than one queue.
SELECT queen.create_queue('wide');
BEGIN;
SELECT count(queen.push_deferred('model', to_jsonb(n), 'w' || n % 100)), count(queen.push_deferred('wide', to_jsonb(repeat('x', 100)), 'w' || n % 100)) FROM generate_series(1, 1000) n;
COMMIT;
SELECT queue, count(*), min(messages), max(messages) FROM queen.partitions WHERE partition ~ '^w\d' GROUP BY 1 ORDER BY 1;
RESET queen.deferred_buffer;
BEGIN;
SELECT count(queen.push_deferred('wide', to_jsonb(n), 'w' || n % 100)), count(queen.push_deferred('model', to_jsonb(repeat('x', 100)), 'w' || n % 100)) FROM generate_series(1, 1000) n;
COMMIT;
SELECT queue, count(*), min(messages), max(messages) FROM queen.partitions WHERE partition ~ '^w\d' GROUP BY 1 ORDER BY 1;
SELECT queue, max(segments) FROM (SELECT queue, count(*) AS segments FROM queen.segment JOIN queen.partitions p USING (partition_id) WHERE p.partition ~ '^w\d' GROUP BY p.queue, p.partition) s GROUP BY 1 ORDER BY 1;
-- temp_file_limit holds, at the call; a savepoint may go on without it, but not write more.
SET queen.deferred_buffer = '64kB';
BEGIN;
SELECT queen.push_deferred('orders', '1', 'limit');
SAVEPOINT a;
SET temp_file_limit = '100kB';
\set VERBOSITY sqlstate
SELECT count(queen.push_deferred('orders', to_jsonb(repeat('x', 1000)), 'limit')) FROM generate_series(1, 1000) n;
\set VERBOSITY default
ROLLBACK TO a;
SELECT count(queen.push_deferred('orders', to_jsonb(repeat('x', 1000)), 'limit')) FROM generate_series(1, 1000) n;
COMMIT;
RESET temp_file_limit;
SELECT (SELECT count(*) FROM queen.partitions WHERE partition = 'limit') AS partitions, (SELECT count(*) FROM pg_ls_tmpdir()) AS files;
RESET queen.deferred_buffer;
SELECT queen.drop_queue('model', true), queen.drop_queue('wide', true);
--
-- The rights are those of the user at the call
--
CREATE ROLE queen_deferred_owner;
CREATE ROLE queen_deferred_other;
BEGIN;
UPDATE queen.queue SET owner = 'queen_deferred_owner'::regrole WHERE name = 'orders';
COMMIT;
BEGIN;
SET LOCAL ROLE queen_deferred_owner;
SELECT queen.push_deferred('orders', '1', 'rights');
SET LOCAL ROLE queen_deferred_other;
SELECT pg_temp.fails($$SELECT queen.push_deferred('orders', '2', 'rights')$$);
COMMIT;
BEGIN;
SET LOCAL ROLE queen_deferred_owner;
SELECT queen.push_deferred('orders', '3', 'rights');
RESET ROLE;
UPDATE queen.queue SET owner = 'queen_deferred_other'::regrole WHERE name = 'orders';
SET LOCAL ROLE queen_deferred_owner;
SELECT pg_temp.fails($$SELECT queen.push_deferred('orders', '4', 'rights')$$);
COMMIT;
SET SESSION AUTHORIZATION queen_deferred_other;
BEGIN;
SELECT queen.push_deferred('orders', '5', 'rights');
COMMIT;
RESET SESSION AUTHORIZATION;
UPDATE queen.queue SET owner = current_user::regrole WHERE name = 'orders';
DROP ROLE queen_deferred_owner, queen_deferred_other;
SELECT pg_temp.log('orders', 'rights');
--
-- Read-only after the call: what was done before stays done
--
BEGIN;
SELECT queen.push_deferred('orders', '1', 'read only');
SET TRANSACTION READ ONLY;
SELECT pg_temp.fails($$SELECT queen.push_deferred('orders', '2', 'read only')$$);
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT queen.push_deferred('orders', '2', 'read only');
SET TRANSACTION READ ONLY;
COMMIT AND CHAIN;
SHOW transaction_read_only;
COMMIT;
SELECT pg_temp.log('orders', 'read only');
--
-- What only commit can know: it fails, with all of the transaction
--
CREATE TABLE deferred_work (id int);
SELECT queen.create_queue('full', max_backlog => 2);
BEGIN;
INSERT INTO deferred_work VALUES (1);
SELECT queen.push_deferred('full', '1', 'p'), queen.push_deferred('full', '2', 'p'), queen.push_deferred('full', '3', 'p'), queen.push_deferred('orders', '3', 'not appended');
COMMIT;
SELECT (SELECT count(*) FROM deferred_work) AS work, (SELECT count(*) FROM queen.partitions WHERE queue = 'full' OR partition = 'not appended') AS partitions, pg_temp.locks();
BEGIN;
INSERT INTO deferred_work VALUES (1);
SELECT queen.push_deferred('full', '1', 'p'), queen.push_deferred('full', '2', 'p');
COMMIT;
SELECT pg_temp.log('full', 'p'), (SELECT count(*) FROM deferred_work) AS work;
-- The queue dropped by the transaction itself, made again, or with the whole extension.
BEGIN;
SELECT queen.push_deferred('full', '3', 'q');
SELECT queen.drop_queue('full', true);
COMMIT;
BEGIN;
SELECT queen.push_deferred('full', '3', 'q');
SELECT queen.drop_queue('full', true), queen.create_queue('full');
SELECT queen.push_deferred('full', '4', 'q');
COMMIT;
BEGIN;
SELECT queen.push_deferred('full', '3', 'q');
DROP EXTENSION queen;
COMMIT;
SET client_min_messages = warning;
BEGIN;
SELECT queen.push_deferred('full', '3', 'q');
DROP EXTENSION queen;
CREATE EXTENSION queen;
SELECT queen.create_queue('orders'), queen.create_queue('full');
SELECT pg_temp.fails($$SELECT queen.push_deferred('full', '4', 'q')$$);
COMMIT;
RESET client_min_messages;
SELECT pg_temp.log('full', 'p'), (SELECT count(*) FROM queen.partitions WHERE partition = 'q') AS q;
SELECT queen.drop_queue('full', true);
-- Purged by the transaction itself: what is deferred comes after it.
BEGIN;
SELECT queen.push_deferred('orders', '"after the purge"', 's');
SELECT queen.purge('orders') > 0 AS purged;
COMMIT;
SELECT pg_temp.log('orders', 's');
--
-- Procedures that commit, and deferred constraint triggers, which run before the append
--
CREATE PROCEDURE pg_temp.work() LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1..3 LOOP
		PERFORM queen.push_deferred('orders', to_jsonb(i), 'procedure'), queen.push_deferred('orders', to_jsonb(-i), 'procedure');
		IF i = 2 THEN
			ROLLBACK;
		ELSE
			COMMIT;
		END IF;
	END LOOP;
	PERFORM queen.push_deferred('orders', '4', 'procedure');
END $$;
CALL pg_temp.work();
SELECT pg_temp.log('orders', 'procedure'), pg_temp.segments('orders', 'procedure');
-- A commit that fails inside a procedure; the session goes on.
SELECT queen.create_queue('full', max_backlog => 1);
CREATE PROCEDURE deferred_too_much() LANGUAGE plpgsql AS $$
BEGIN
	PERFORM queen.push_deferred('full', '1', 'p');
	COMMIT;
	PERFORM queen.push_deferred('full', '2', 'p');
	COMMIT;
END $$;
CALL deferred_too_much();
SELECT pg_temp.locks();
SELECT pg_temp.log('full', 'p');
SELECT queen.drop_queue('full', true);
DROP PROCEDURE deferred_too_much;
CREATE FUNCTION pg_temp.late() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM queen.push_deferred('orders', to_jsonb(new.id), 'constraint');
	RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER late AFTER INSERT ON deferred_work DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION pg_temp.late();
BEGIN;
INSERT INTO deferred_work VALUES (1), (2);
SELECT queen.push_deferred('orders', '"before"', 'constraint');
SAVEPOINT a;
INSERT INTO deferred_work VALUES (3);
ROLLBACK TO a;
COMMIT;
INSERT INTO deferred_work VALUES (4);
SELECT pg_temp.log('orders', 'constraint');
DROP TABLE deferred_work;
--
-- Isolation levels, two-phase commit, plain pushes in between
--
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT queen.push_deferred('orders', '1', 'levels');
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT queen.push_deferred('orders', '2', 'levels');
COMMIT;
-- A plain push of the same transaction comes first: it appends at once.
BEGIN;
SELECT queen.push_deferred('orders', '4', 'levels');
SELECT message_offset FROM queen.push('orders', '3', 'levels');
COMMIT;
BEGIN;
SELECT queen.push_deferred('orders', '5', 'levels');
PREPARE TRANSACTION 'deferred one';
BEGIN;
SELECT queen.push_deferred('orders', '"other"', 'levels 2');
PREPARE TRANSACTION 'deferred two';
SELECT queen.push_deferred('orders', '1', 'levels 3');
ROLLBACK PREPARED 'deferred two';
COMMIT PREPARED 'deferred one';
SELECT pg_temp.log('orders', 'levels'), pg_temp.log('orders', 'levels 2'), pg_temp.log('orders', 'levels 3');
--
-- Nothing of the session's is called at commit, whatever its path
--
CREATE SCHEMA hostile;
CREATE FUNCTION hostile.steal(text, text) RETURNS boolean LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION 'called'; END $$;
CREATE FUNCTION hostile.steal(bigint, bigint) RETURNS boolean LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION 'called'; END $$;
CREATE OPERATOR hostile.= (LEFTARG = text, RIGHTARG = text, FUNCTION = hostile.steal);
CREATE OPERATOR hostile.= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = hostile.steal);
CREATE TABLE hostile.segment (LIKE queen.segment);
SET search_path = hostile, pg_catalog;
BEGIN;
SELECT queen.push_deferred('orders', '1', 'path');
COMMIT;
SHOW search_path;
RESET search_path;
SELECT pg_temp.log('orders', 'path');
DROP SCHEMA hostile CASCADE;
SELECT queen.drop_queue('orders', true);
