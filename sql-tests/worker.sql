-- worker: what SQL sees of it and says to it. The life of its processes is a matter of the TAP tests.
\set QUIET on
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS queen;
RESET client_min_messages;
-- Calls something until it answers true, for a minute at most; each try sees what has been committed.
CREATE FUNCTION pg_temp.until(condition text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	answer boolean;
BEGIN
	FOR i IN 1 .. 1200 LOOP
		EXECUTE 'SELECT ' || condition INTO answer;
		IF answer THEN
			RETURN true;
		END IF;
		PERFORM pg_sleep(0.05);
		PERFORM pg_stat_clear_snapshot();
	END LOOP;
	RETURN false;
END $$;
\set QUIET off
-- The steps, whether they have run yet or not.
SELECT step FROM queen.worker_status ORDER BY 1;
-- Stopped: nobody is here when it returns, nobody comes, and it is told.
SELECT queen.worker_stop();
SELECT DISTINCT not_running FROM queen.worker_status;
SELECT stopped_at <= clock_timestamp() AS stopped_at, stopped_by = current_user AS by_me FROM queen.worker_switch;
SELECT pg_temp.until($$NOT EXISTS (SELECT FROM pg_stat_activity WHERE backend_type = 'queen worker' AND datname = current_database())$$);
SELECT queen.create_queue('work', retention => '1 s');
SELECT message_offset FROM queen.push('work', '1', 'p');
UPDATE queen.segment SET created_at = created_at - interval '1 hour';
UPDATE queen.partition SET oldest_at = oldest_at - interval '1 hour';
-- Twice is no error; what is rolled back did not happen.
SELECT queen.worker_stop();
BEGIN;
SELECT queen.worker_start();
SELECT count(*) FROM queen.worker_switch;
ROLLBACK;
SELECT count(*) FROM queen.worker_switch;
SELECT messages FROM queen.partitions WHERE queue = 'work';
-- Started, it comes at once.
SELECT queen.worker_start();
SELECT queen.worker_start();
SELECT pg_temp.until($$(SELECT messages = 0 FROM queen.partitions WHERE queue = 'work')$$);
SELECT pg_temp.until($$EXISTS (SELECT FROM queen.worker_status WHERE step = 'retention' AND total > 0 AND last_work_at IS NOT NULL AND failures = 0 AND not_running IS NULL)$$);
SELECT pg_temp.until($$EXISTS (SELECT FROM queen.retention_history WHERE removed_by = 'worker')$$);
SELECT queue, removed_by, partitions, segments, messages, unread FROM queen.retention_history;
-- The launcher runs already.
SELECT queen.start_worker();
-- A partition that a step fails in is told, with its context, and held back; it holds up neither the others
-- of its queue nor other queues nor other steps.
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN IF NEW.name = 'q' THEN RAISE 'refused: %', TG_TABLE_NAME; END IF; RETURN NEW; END $$;
CREATE TRIGGER refuse BEFORE UPDATE ON queen.partition FOR EACH ROW EXECUTE FUNCTION refuse();
SELECT queen.alter_queue('work', drop_idle_partitions => '1 us', dedup_window => '0');
SELECT message_offset FROM queen.push('work', '1', 'q');
SELECT message_offset FROM queen.push('work', '1', 'r');
SELECT queen.create_queue('work behind', retention => '1 s');
SELECT message_offset FROM queen.push('work behind', '1', 'r');
SELECT queen.worker_stop();
UPDATE queen.segment SET created_at = created_at - interval '1 hour';
SELECT pg_temp.until($$EXISTS (SELECT FROM queen.partition WHERE name = 'q')$$);
ALTER TABLE queen.partition DISABLE TRIGGER refuse;
UPDATE queen.partition SET oldest_at = oldest_at - interval '1 hour' WHERE name IN ('q', 'r');
ALTER TABLE queen.partition ENABLE TRIGGER refuse;
SELECT queen.worker_start();
SELECT pg_temp.until($$EXISTS (SELECT FROM queen.worker_status WHERE failures > 0)$$);
SELECT step, error, error_state, held_until, error_context ~ format('step "retention" of queen''s maintenance, queue %s, partition %s$', p.queue_id, p.partition_id) AS context
  FROM queen.worker_status, queen.partition p WHERE failures > 0 AND p.name = 'q';
SELECT pg_temp.until($$NOT EXISTS (SELECT FROM queen.partitions WHERE partition = 'r' AND messages > 0)$$);
SELECT failures, total > 0 AS went_on FROM queen.worker_status WHERE step = 'retention';
SELECT pg_temp.until($$NOT EXISTS (SELECT FROM queen.partition WHERE name = 'p')$$);
SELECT total > 0 AS went_on FROM queen.worker_status WHERE step = 'idle partitions';
-- When the reason is gone it succeeds again; the last error can still be read.
DROP TRIGGER refuse ON queen.partition;
DROP FUNCTION refuse();
SELECT queen.worker_start();
SELECT pg_temp.until($$EXISTS (SELECT FROM queen.worker_status WHERE step = 'retention' AND failures = 0 AND held_until IS NULL AND error IS NOT NULL)$$);
-- Settings.
SET queen.naptime = '1 s';
ALTER SYSTEM SET queen.databases = 'a b';
SELECT name, setting, unit, context FROM pg_settings WHERE name IN ('queen.naptime', 'queen.databases', 'queen.max_workers', 'queen.history_age') ORDER BY 1;
-- By hand, a failure is the caller's.
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE 'refused: %', TG_TABLE_NAME; END $$;
CREATE TRIGGER refuse BEFORE DELETE ON queen.partition FOR EACH ROW EXECUTE FUNCTION refuse();
SELECT queen.worker_stop();
SELECT message_offset FROM queen.push('work', '1', 's');
UPDATE queen.partition SET oldest_at = 'infinity', last_at = '2000-01-01' WHERE name = 's';
DELETE FROM queen.segment;
\set VERBOSITY terse
SELECT step, done FROM queen.maintain();
DROP TRIGGER refuse ON queen.partition;
DROP FUNCTION refuse();
SELECT step, done FROM queen.maintain();
BEGIN READ ONLY;
SELECT step, done FROM queen.maintain();
ROLLBACK;
SELECT queen.drop_queue('work', true), queen.drop_queue('work behind', true);
SELECT queen.worker_start();
