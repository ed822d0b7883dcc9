-- wait: until something can be popped, by queen.wait and by pop(..., wait => ...). The same with and without preloading.
\set QUIET on
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS queen;
-- The error of a statement, its SQLSTATE first. What it changed is undone.
CREATE FUNCTION pg_temp.fails(command text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE command;
	RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ': ' || SQLERRM;
END $$;
-- Whether a time ago is at least so long and, machines being what they are, not much longer.
CREATE FUNCTION pg_temp.took(since timestamptz, at_least interval, less_than interval) RETURNS text LANGUAGE sql AS $$
	SELECT CASE WHEN clock_timestamp() - since < at_least THEN 'too short'
				WHEN clock_timestamp() - since >= less_than THEN 'too long' ELSE 'right' END
$$;
RESET client_min_messages;
SELECT queen.create_queue('q', retry_delay => '300 ms') \g /dev/null
--
-- A procedure that commits
--
SELECT p.prokind, p.proconfig FROM pg_proc p WHERE p.oid = 'queen.wait'::regproc;
BEGIN;
CALL queen.wait('q', 'g', '1 s');
ROLLBACK;
CREATE FUNCTION pg_temp.in_function() RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	ready boolean;
BEGIN
	CALL queen.wait('q', 'g', '1 s', ready);
	RETURN ready;
END $$;
SELECT pg_temp.fails('SELECT pg_temp.in_function()');
SELECT pg_temp.fails('SELECT queen.wait(''q'', ''g'', ''1 s'', NULL)');
DO $$
DECLARE
	ready boolean;
BEGIN
	BEGIN
		CALL queen.wait('q', 'g', '1 s', ready);
	EXCEPTION WHEN OTHERS THEN
		RAISE NOTICE 'in a savepoint: %', SQLSTATE;
	END;
END $$;
-- In a procedure it commits what was done before.
CREATE TABLE done (what text);
CREATE PROCEDURE work(how text, INOUT ready boolean DEFAULT NULL) LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO done VALUES (how);
	CALL queen.wait('q', 'g', '0', ready);
	INSERT INTO done VALUES (how || ', not kept');
	ROLLBACK;
END $$;
CALL work('kept');
SELECT * FROM done;
DROP PROCEDURE work;
DROP TABLE done;
--
-- Arguments
--
CALL queen.wait(NULL, 'g', '1 s');
CALL queen.wait('q', NULL, '1 s');
CALL queen.wait('q', 'g', NULL);
CALL queen.wait('q', 'g', '-1 s');
CALL queen.wait('q', 'g', '1000 years');
CALL queen.wait('', 'g', '1 s');
CALL queen.wait('unknown', 'g', '1 s');
SELECT pg_temp.fails($$SELECT queen.pop('q', wait => '-1 s')$$);
SELECT pg_temp.fails($$SELECT queen.pop('q', wait => 'infinity')$$) ~ '^22' AS refused;
CREATE ROLE regress_queen_waiter;
SET ROLE regress_queen_waiter;
CALL queen.wait('q', 'g', '1 s');
RESET ROLE;
DROP ROLE regress_queen_waiter;
BEGIN READ ONLY;
SELECT pg_temp.fails($$SELECT queen.pop('q', wait => '1 s')$$);
ROLLBACK;
SET default_transaction_read_only = on;
CALL queen.wait('q', 'g', '1 s');
RESET default_transaction_read_only;
--
-- Nothing comes
--
SELECT clock_timestamp() AS since \gset
CALL queen.wait('q', 'g', '200 ms');
SELECT pg_temp.took(:'since', '200 ms', '20 s');
SELECT count(*) FROM queen.pop('q', 'g', wait => '200 ms');
SELECT pg_temp.took(:'since', '400 ms', '20 s');
CALL queen.wait(queue => 'q', timeout => '0');
-- A wait registers nobody; a waiting pop does.
SELECT consumer_group FROM queen.consumer_groups;
-- The setting caps a pop's wait, not queen.wait.
SET queen.max_pop_wait = '50ms';
SELECT clock_timestamp() AS since \gset
SELECT count(*) FROM queen.pop('q', 'g', wait => '1 hour');
SELECT pg_temp.took(:'since', '50 ms', '20 s');
SET queen.max_pop_wait = 0;
SELECT count(*) FROM queen.pop('q', 'g', wait => '1 hour');
RESET queen.max_pop_wait;
SET statement_timeout = '100ms';
CALL queen.wait('q', 'g', '1 hour');
SELECT count(*) FROM queen.pop('q', 'g', wait => '1 hour');
RESET statement_timeout;
-- The session goes on as before.
SELECT (SELECT count(*) FROM queen.pop('q', 'g')) AS popped, current_setting('search_path') AS path;
--
-- Something is there
--
SELECT message_offset FROM queen.push('q', '1', 'a');
CALL queen.wait('q', 'g', '1 hour');
CALL queen.wait('q', 'nobody yet', '1 hour');
SELECT partition, message_offset, lease AS l FROM queen.pop('q', 'g', wait => '1 hour', lease_time => '1 hour') \gset
\echo :partition :message_offset
CALL queen.wait('q', 'g', '10 ms');
SELECT message_offset FROM queen.push('q', '2', 'a');
CALL queen.wait('q', 'g', '10 ms');
SELECT queen.ack(:'l');
CALL queen.wait('q', 'g', '1 hour');
-- In this very transaction, too.
BEGIN;
SELECT message_offset FROM queen.push('q', '3', 'b');
SELECT partition, message_offset FROM queen.pop('q', 'g', partition => 'b', auto_ack => true, wait => '1 hour');
ROLLBACK;
-- A subscription counts as it does for a pop.
SELECT queen.subscribe('q', 'new', 'new'), queen.subscribe('q', 'future', 'timestamp', clock_timestamp() + '1 day');
CALL queen.wait('q', 'new', '10 ms');
CALL queen.wait('q', 'future', '10 ms');
--
-- What time brings: the end of a lease, of a back-off
--
SELECT clock_timestamp() AS since \gset
SELECT lease AS l FROM queen.pop('q', 'g', lease_time => '300 ms') \gset
CALL queen.wait('q', 'g', '1 hour');
SELECT pg_temp.took(:'since', '300 ms', '20 s');
SELECT lease AS l FROM queen.pop('q', 'g', lease_time => '1 hour') \gset
SELECT clock_timestamp() AS since \gset
SELECT queen.nack(:'l');
SELECT message_offset, delivery, lease AS l FROM queen.pop('q', 'g', wait => '1 hour') \gset
\echo :message_offset :delivery
SELECT pg_temp.took(:'since', '300 ms', '20 s');
-- Of the one partition that is asked for.
SELECT clock_timestamp() AS since \gset
SELECT queen.nack(:'l', delay => '200 ms');
SELECT message_offset FROM queen.pop('q', 'g', partition => 'a', wait => '1 hour', auto_ack => true);
SELECT pg_temp.took(:'since', '200 ms', '20 s');
SELECT count(*) FROM queen.pop('q', 'g', partition => 'no such', wait => '10 ms');
--
-- A seek, a release, a pause
--
CALL queen.wait('q', 'g', '10 ms');
SELECT new_committed FROM queen.seek('q', 'g', to_beginning => true);
CALL queen.wait('q', 'g', '1 hour');
SELECT lease AS l FROM queen.pop('q', 'g', lease_time => '1 hour') LIMIT 1 \gset
SELECT queen.release(:'l');
CALL queen.wait('q', 'g', '1 hour');
SELECT queen.pause_queue('q');
CALL queen.wait('q', 'g', '10 ms');
SELECT pg_temp.fails($$SELECT queen.pop('q', 'g', wait => '1 hour')$$);
SELECT queen.resume_queue('q');
CALL queen.wait('q', 'g', '1 hour');
SELECT queen.drop_queue('q', true);
CALL queen.wait('q', 'g', '1 hour');
