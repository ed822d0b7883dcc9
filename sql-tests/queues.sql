-- queues: making, altering, pausing, emptying and dropping them, and whose they are.
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
	RETURN regexp_replace(SQLSTATE || ': ' || SQLERRM || coalesce(' (' || nullif(why, '') || ')', ''),
						  '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}', 'UUID', 'g');
END $$;
CREATE TEMP VIEW options AS
SELECT queue, paused, partitions, lease, retry_limit, retry_delay, max_deliveries, on_exhausted, max_backlog FROM queen.queues ORDER BY queue;
GRANT SELECT ON options TO PUBLIC;
RESET client_min_messages;
\set QUIET off
SELECT queen.create_queue('plain');
SELECT queen.create_queue('all', partitions => 4, lease => '5 min', retry_limit => 0, retry_delay => '0', max_deliveries => NULL, on_exhausted => 'drop', max_backlog => 10);
SELECT * FROM options;
-- The defaults of create_queue are those of reset_queue_option.
SELECT queen.reset_queue_option('all', o) FROM unnest(array['partitions', 'lease', 'retry_limit', 'retry_delay', 'max_deliveries', 'on_exhausted', 'max_backlog']) o;
SELECT * FROM options;
-- alter_queue changes what is given, and nothing else.
SELECT queen.alter_queue('all', lease => '2 min');
SELECT queen.alter_queue('all', max_deliveries => NULL, max_backlog => 5);
SELECT queen.alter_queue('all', partitions => 2, retry_limit => 7);
SELECT queen.alter_queue('all', retry_delay => '1 day', on_exhausted => 'drop', max_backlog => NULL);
SELECT queen.alter_queue('all');
SELECT * FROM options;
--
-- Refused
--
SELECT pg_temp.fails($$SELECT queen.create_queue('plain')$$);
SELECT pg_temp.fails($$SELECT queen.create_queue(NULL)$$);
SELECT pg_temp.fails($$SELECT queen.create_queue('')$$);
SELECT pg_temp.fails($$SELECT queen.create_queue(E'a\nb')$$);
SELECT pg_temp.fails($$SELECT queen.create_queue(repeat('x', 256))$$);
SELECT option, pg_temp.fails(format('SELECT queen.create_queue(''bad'', %s)', option)) AS create,
	   pg_temp.fails(format('SELECT queen.alter_queue(''plain'', %s)', option)) AS alter
  FROM unnest(array['partitions => 0', 'partitions => 10001', 'partitions => NULL', 'lease => ''0''', 'lease => ''-1 s''', 'lease => ''366 days 1 us''', 'lease => ''1 day -24 hours''',
	'lease => ''178000000 years''', 'lease => NULL', 'retry_limit => -1', 'retry_limit => 1000001', 'retry_limit => NULL', 'retry_delay => ''-1 us''',
	'retry_delay => ''12 months 6 days 1 us''', 'retry_delay => NULL', 'max_deliveries => 0', 'max_deliveries => -1', 'max_deliveries => 1000001',
	'on_exhausted => ''keep''', 'on_exhausted => NULL', 'max_backlog => 0', 'max_backlog => -1']) option;
SELECT option, pg_temp.fails(format('SELECT queen.create_queue(''edge'', %s), queen.drop_queue(''edge'')', option)) AS create,
	   pg_temp.fails(format('SELECT queen.alter_queue(''plain'', %s)', option)) AS alter
  FROM unnest(array['partitions => 1', 'partitions => 10000', 'lease => ''1 us''', 'lease => ''366 days''', 'retry_limit => 0', 'retry_limit => 1000000',
	'retry_delay => ''0''', 'retry_delay => ''366 days''', 'max_deliveries => 1', 'max_deliveries => 1000000', 'max_backlog => 1', 'max_backlog => 9223372036854775807']) option;
SELECT queen.drop_queue('plain');
SELECT queen.create_queue('plain');
SELECT pg_temp.fails($$SELECT queen.reset_queue_option('plain', 'colour')$$);
SELECT pg_temp.fails($$SELECT queen.reset_queue_option('plain', NULL)$$);
SELECT pg_temp.fails($$SELECT queen.reset_queue_option('plain', 'owner')$$);
-- Every verb on a queue that is not there, and nothing made.
SELECT verb, pg_temp.fails('SELECT queen.' || verb) FROM unnest(array['alter_queue(''none'')', 'reset_queue_option(''none'', ''lease'')', 'pause_queue(''none'')',
	'resume_queue(''none'')', 'purge(''none'')', 'drop_queue(''none'')', 'push(''none'', ''1'')', 'push_batch(''none'', ''[1]'')', 'push_items(''none'', ''[]'')', 'pop(''none'')',
	'subscribe(''none'', ''g'')', 'unsubscribe(''none'', ''g'')', 'seek(''none'', ''g'', to_end => true)', 'replay(''none'', ''p'', 0, 0, ''plain'')', 'replay(''plain'', ''p'', 0, 0, ''none'')']) verb;
SELECT * FROM options;
--
-- A paused queue refuses pops, and only pops
--
SELECT message_offset FROM queen.push('plain', '1');
SELECT lease FROM queen.pop('plain') \gset
SELECT queen.pause_queue('plain');
SELECT queen.pause_queue('plain');
SELECT paused, paused_at <= clock_timestamp() AS at FROM queen.queues WHERE queue = 'plain';
SELECT pg_temp.fails($$SELECT * FROM queen.pop('plain')$$);
SELECT message_offset FROM queen.push('plain', '2');
SELECT queen.ack(:'lease');
SELECT queen.resume_queue('plain');
SELECT queen.resume_queue('plain');
SELECT message_offset FROM queen.pop('plain', auto_ack => true);
SELECT paused, paused_at FROM queen.queues WHERE queue = 'plain';
--
-- Every option is enforced, and what is altered holds from the next call
--
SELECT queen.create_queue('enforced', partitions => 2, lease => '1 h', retry_limit => 0);
SELECT count(DISTINCT (queen.push('enforced', '1')).partition) FROM generate_series(1, 10);
SELECT queen.alter_queue('enforced', partitions => 1);
SELECT DISTINCT (queen.push('enforced', '1')).partition FROM generate_series(1, 10);
SELECT queen.purge('enforced');
SELECT message_offset FROM queen.push('enforced', '1', 'p');
SELECT lease FROM queen.pop('enforced') \gset
SELECT lease_until - leased_at BETWEEN '59 min' AND '61 min' AS an_hour FROM queen.leases WHERE queue = 'enforced';
-- retry_limit: the first failure is final with 0, the second with 1.
SELECT queen.nack(:'lease');
SELECT queen.alter_queue('enforced', retry_limit => 1, retry_delay => '1 h', on_exhausted => 'drop');
SELECT message_offset FROM queen.push('enforced', '2', 'p');
SELECT queen.nack(lease) FROM queen.pop('enforced');
-- retry_delay holds the lane; it was fixed when the failure was.
SELECT not_before - updated_at BETWEEN '59 min' AND '61 min' AS an_hour FROM queen.cursors WHERE queue = 'enforced' AND partition = 'p';
SELECT queen.alter_queue('enforced', retry_delay => '0');
SELECT count(*) FROM queen.pop('enforced');
SELECT new_committed FROM queen.seek('enforced', 'default', partition => 'p', to_offset => 1);
SELECT queen.nack(lease) FROM queen.pop('enforced');
SELECT queen.nack(lease) FROM queen.pop('enforced');
-- on_exhausted: dropped, and no dead letter of it.
SELECT message_offset, reason, failures FROM queen.dead_letters WHERE queue = 'enforced' ORDER BY 1;
-- max_deliveries: poison after two without an answer; NULL: never.
SELECT queen.alter_queue('enforced', lease => '1 us', max_deliveries => 2, on_exhausted => 'dead_letter');
SELECT message_offset FROM queen.push('enforced', '3', 'p');
SELECT delivery FROM queen.pop('enforced');
SELECT delivery FROM queen.pop('enforced');
SELECT count(*) FROM queen.pop('enforced');
SELECT message_offset, reason, deliveries, failures FROM queen.dead_letters WHERE queue = 'enforced' ORDER BY 1;
SELECT queen.alter_queue('enforced', max_deliveries => NULL);
SELECT message_offset FROM queen.push('enforced', '4', 'p');
SELECT count(*), max(delivery) FROM generate_series(1, 20) n, LATERAL queen.pop('enforced', batch => n / n);
SELECT queen.drop_queue('enforced', true);
--
-- max_backlog: counted behind the slowest group, without a group from the oldest message
--
SELECT queen.create_queue('small', max_backlog => 3);
SELECT first_offset FROM queen.push_batch('small', '[0, 1]', 'p');
SELECT pg_temp.fails($$SELECT queen.push_batch('small', '[2, 3]', 'p')$$);
SELECT first_offset FROM queen.push_batch('small', '[2]', 'p');
SELECT first_offset FROM queen.push_batch('small', '[0, 1, 2]', 'other');
SELECT pg_temp.fails($$SELECT queen.push_items('small', '[{"payload": 1, "partition": "third"}, {"payload": 1, "partition": "p"}]')$$);
SELECT count(*) FROM queen.partitions WHERE queue = 'small' AND partition = 'third';
SELECT count(*) FROM queen.pop('small', 'fast', 2, partition => 'p', auto_ack => true);
SELECT first_offset FROM queen.push_batch('small', '[3]', 'p');
SELECT queen.subscribe('small', 'slow');
SELECT pg_temp.fails($$SELECT queen.push('small', '4', 'p')$$);
SELECT count(*) FROM queen.pop('small', 'slow', 1, partition => 'p', auto_ack => true);
SELECT pg_temp.fails($$SELECT queen.push('small', '4', 'p')$$);
SELECT count(*) FROM queen.pop('small', 'slow', 1, partition => 'p', auto_ack => true);
SELECT message_offset FROM queen.push('small', '4', 'p');
SELECT queen.unsubscribe('small', 'slow'), queen.unsubscribe('small', 'fast');
SELECT pg_temp.fails($$SELECT queen.push('small', '5', 'p')$$);
SELECT queen.subscribe('small', 'at the end', 'new'), queen.subscribe('small', 'from tomorrow', 'timestamp', now() + interval '1 day');
SELECT first_offset FROM queen.push_batch('small', '[5, 6, 7]', 'p');
SELECT queen.alter_queue('small', max_backlog => NULL);
SELECT message_offset FROM queen.push('small', '8', 'p');
SELECT queen.drop_queue('small', true);
--
-- purge: offsets and time go on, groups and dead letters stay
--
SELECT queen.create_queue('full');
SELECT messages FROM queen.push_batch('full', '[0, 1, 2]', 'a');
SELECT messages FROM queen.push_batch('full', '[0, 1]', 'b');
SELECT queen.reject(lease) FROM queen.pop('full', batch => 1, partition => 'a');
UPDATE queen.segment SET created_at = 'tomorrow' WHERE partition_id = (SELECT partition_id FROM queen.partitions WHERE queue = 'full' AND partition = 'a');
SELECT queen.purge('full');
SELECT queen.purge('full');
SELECT partition, first_offset, next_offset, messages FROM queen.partitions WHERE queue = 'full' ORDER BY 1;
SELECT count(*) FROM queen.segment s JOIN queen.partitions p USING (partition_id) WHERE queue = 'full';
SELECT p.name, p.oldest_at, p.last_at > now() - interval '1 hour' AS last FROM queen.partition p JOIN queen.queue q USING (queue_id) WHERE q.name = 'full' ORDER BY 1;
SELECT message_offset FROM queen.push('full', '"after"', 'a');
SELECT s.base_offset, p.oldest_at <= s.created_at AND p.oldest_at > '-infinity' AS bound, p.last_at < 'infinity' AS stood
  FROM queen.segment s JOIN queen.partition p USING (partition_id) JOIN queen.queue q USING (queue_id) WHERE q.name = 'full';
SELECT partition, message_offset, payload, created_at >= 'tomorrow' AS not_back_in_time FROM queen.pop('full', auto_ack => true);
SELECT count(*) FROM queen.dead_letters WHERE queue = 'full';
SELECT behind FROM queen.consumer_groups WHERE queue = 'full';
-- Pushes wait for it, consumers do not.
BEGIN;
SELECT queen.purge('full');
SELECT CASE objsubid WHEN 20737 THEN 'queue' WHEN 20738 THEN 'queue append' ELSE 'another' END AS lock, mode FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid() ORDER BY 1, 2;
ROLLBACK;
SELECT messages FROM queen.partitions WHERE queue = 'full' AND partition = 'a';
--
-- drop
--
SELECT pg_temp.fails($$SELECT queen.drop_queue('full')$$);
SELECT queen.purge('full');
SELECT pg_temp.fails($$SELECT queen.drop_queue('full')$$);
SELECT pg_temp.fails($$SELECT queen.drop_queue('full', NULL)$$);
SELECT message_offset FROM queen.push('full', '1', 'a');
SELECT lease FROM queen.pop('full') \gset
SELECT queen.drop_queue('full', "cascade" => true);
SELECT pg_temp.fails(format('SELECT queen.ack(%L)', :'lease'));
SELECT state FROM queen.ack_leases(array[:'lease']::uuid[]);
SELECT queen.create_queue('full');
SELECT message_offset FROM queen.push('full', '"another"', 'a');
SELECT message_offset, payload FROM queen.pop('full', auto_ack => true);
SELECT pg_temp.fails(format('SELECT queen.ack(%L)', :'lease'));
SELECT queen.drop_queue('full', true);
BEGIN;
SELECT queen.create_queue('brief');
SELECT message_offset FROM queen.push('brief', '1');
SELECT queen.drop_queue('brief', true);
SELECT queen.create_queue('brief');
COMMIT;
BEGIN;
SELECT queen.drop_queue('brief');
ROLLBACK;
SELECT message_offset FROM queen.push('brief', '1');
BEGIN;
SELECT queen.drop_queue('brief', true);
SELECT pg_temp.fails($$SELECT queen.push('brief', '2')$$);
ROLLBACK;
SELECT pg_temp.fails($$SELECT queen.drop_queue('brief')$$);
SELECT message_offset, payload FROM queen.pop('brief', auto_ack => true);
BEGIN;
SELECT queen.create_queue('never');
ROLLBACK;
SELECT pg_temp.fails($$SELECT queen.push('never', '1')$$);
SELECT queen.drop_queue('brief', true), queen.drop_queue('all'), queen.drop_queue('plain', true);
-- Nothing of any queue is left.
SELECT (SELECT count(*) FROM queen.queue), (SELECT count(*) FROM queen.partition), (SELECT count(*) FROM queen.segment),
	   (SELECT count(*) FROM queen.consumer_group), (SELECT count(*) FROM queen.cursor), (SELECT count(*) FROM queen.dead_letter);
--
-- Whose it is
--
CREATE ROLE queen_maker;
CREATE ROLE queen_member IN ROLE queen_maker;
CREATE ROLE queen_set_only NOINHERIT IN ROLE queen_maker;
CREATE ROLE queen_other;
GRANT CREATE ON SCHEMA queen TO queen_maker;
SET ROLE queen_other;
SELECT pg_temp.fails($$SELECT queen.create_queue('theirs')$$);
SET queen.auto_create_queue = on;
SELECT pg_temp.fails($$SELECT queen.push('theirs', '1')$$);
SET ROLE queen_maker;
SELECT message_offset FROM queen.push('theirs', '1', 'p');
RESET queen.auto_create_queue;
SELECT message_offset, queen.nack(lease, delay => '0') FROM queen.pop('theirs');
SELECT lease FROM queen.pop('theirs') \gset
SELECT message_offset FROM queen.push('theirs', '1', 'dead');
SELECT queen.reject(p.lease) FROM queen.pop('theirs', partition => 'dead') p;
SELECT seek_id FROM queen.seek('theirs', 'sought', to_end => true) LIMIT 1 \gset
SELECT partition_id, group_id FROM queen.cursors WHERE queue = 'theirs' LIMIT 1 \gset
SELECT queen._start_offset(:partition_id, :group_id) IS NULL AS hidden;
SELECT queue, owner FROM queen.queues;
SELECT pg_temp.fails('SELECT FROM queen.segment');
-- No table and no sequence is open to anybody, and of a view only what it shows.
CREATE FUNCTION pg_temp.open_to_me() RETURNS TABLE (relation text, privilege text) LANGUAGE sql AS $$
	SELECT c.oid::regclass::text, p.privilege
	  FROM pg_class c, unnest(CASE c.relkind WHEN 'S' THEN array['SELECT', 'USAGE', 'UPDATE']
							  ELSE array['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER'] END) p (privilege)
	 WHERE c.relnamespace = 'queen'::regnamespace AND c.relkind IN ('r', 'S', 'v') AND (c.relkind <> 'v' OR p.privilege <> 'SELECT')
	   AND CASE WHEN c.relkind = 'S' THEN has_sequence_privilege(c.oid, p.privilege)
				WHEN p.privilege IN ('DELETE', 'TRUNCATE', 'TRIGGER') THEN has_table_privilege(c.oid, p.privilege)
				ELSE has_any_column_privilege(c.oid, p.privilege) END
$$;
SELECT * FROM pg_temp.open_to_me();
SET ROLE queen_member;
SELECT queen.renew(:'lease') IS NOT NULL AS renewed;
SELECT (SELECT count(*) FROM queen.leases) AS leases, (SELECT count(*) FROM queen.dead_letters) AS dead_letters, (SELECT count(*) FROM queen.seek_history) AS seeks;
SELECT message_offset FROM queen.push('theirs', '"of a member"', 'q');
SELECT payload, queen.ack(p.lease) FROM queen.pop('theirs', partition => 'q') p;
SELECT queen.pause_queue('theirs'), queen.resume_queue('theirs'), queen.alter_queue('theirs', lease => '2 min');
SET ROLE queen_set_only;
SELECT pg_temp.fails($$SELECT queen.push('theirs', '1')$$);
SELECT count(*) FROM queen.queues;
SET ROLE queen_other;
SELECT (SELECT count(*) FROM queen.queues) + (SELECT count(*) FROM queen.partitions) + (SELECT count(*) FROM queen.consumer_groups) + (SELECT count(*) FROM queen.cursors) + (SELECT count(*) FROM queen.leases)
	+ (SELECT count(*) FROM queen.dead_letters) + (SELECT count(*) FROM queen.seek_history) AS seen;
SELECT queen._start_offset(:partition_id, :group_id) IS NULL AS hidden;
SELECT verb, pg_temp.fails(format('SELECT queen.' || verb, :'lease')) FROM unnest(array['alter_queue(''theirs'')', 'reset_queue_option(''theirs'', ''lease'')', 'pause_queue(''theirs'')',
	'resume_queue(''theirs'')', 'purge(''theirs'')', 'drop_queue(''theirs'', true)', 'push(''theirs'', ''1'')', 'push_batch(''theirs'', ''[1]'')', 'push_items(''theirs'', ''[]'')',
	'pop(''theirs'')', 'subscribe(''theirs'', ''g'')', 'unsubscribe(''theirs'', ''default'')', 'ack(%L)', 'ack(%L, 0)', 'ack_messages(%L, ''{0}'')', 'ack_leases(array[%L]::uuid[])',
	'nack(%L)', 'reject(%L)', 'release(%L)', 'renew(%L)', 'seek(''theirs'', ''default'', to_end => true)', 'seek(''theirs'', ''default'', to_end => true, dry_run => true)',
	'replay(''theirs'', ''p'', 0, 0, ''none'')']) verb;
SELECT pg_temp.fails(format('SELECT queen.seek_undo(%s)', :'seek_id'));
SELECT pg_temp.fails(format('SELECT queen.pop(''theirs'', ack => array[%L]::uuid[])', :'lease'));
SET queen.auto_create_queue = on;
SELECT pg_temp.fails($$SELECT queen.push('theirs', '1')$$);
RESET queen.auto_create_queue;
-- As for tables, a function that runs as its owner can give others a part of it.
SET ROLE queen_maker;
CREATE FUNCTION pg_temp.submit(body json) RETURNS bigint LANGUAGE sql SECURITY DEFINER AS $$SELECT message_offset FROM queen.push('theirs', $1, 'p')$$;
SET ROLE queen_other;
SELECT pg_temp.submit('2');
SELECT pg_temp.fails($$SELECT queen.push('theirs', '3', 'p')$$);
RESET ROLE;
SELECT queen.ack(:'lease');
SELECT queen.drop_queue('theirs', true);
DROP FUNCTION pg_temp.submit;
-- Two owners: nobody reaches another's queue by way of his own.
GRANT CREATE ON SCHEMA queen TO queen_other;
SET ROLE queen_maker;
SELECT queen.create_queue('one');
SELECT message_offset FROM queen.push('one', '1', 'p');
SELECT lease FROM queen.pop('one') \gset
SET ROLE queen_other;
SELECT * FROM pg_temp.open_to_me();
SELECT queen.create_queue('two');
SELECT message_offset FROM queen.push('two', '1', 'p');
SELECT pg_temp.fails(format('SELECT queen.pop(''two'', ack => array[%L]::uuid[])', :'lease'));
SELECT pg_temp.fails(format('SELECT queen.pop(''two'', ack => array[%L]::uuid[], strict_ack => true)', :'lease'));
SELECT pg_temp.fails($$SELECT queen.replay('one', 'p', 0, 0, 'two')$$), pg_temp.fails($$SELECT queen.replay('two', 'p', 0, 0, 'one')$$);
SELECT pg_temp.fails($$SELECT queen.create_queue('one')$$);
SELECT queue FROM queen.queues;
SELECT message_offset, queen.ack(lease) FROM queen.pop('two');
RESET ROLE;
SELECT queen.ack(:'lease');
-- A queue whose owner is no more belongs to superusers.
REVOKE CREATE ON SCHEMA queen FROM queen_maker, queen_other;
DROP FUNCTION pg_temp.open_to_me;
DROP ROLE queen_maker;
SET ROLE queen_other;
SELECT pg_temp.fails($$SELECT queen.push('one', '1')$$);
SELECT queue FROM queen.queues;
SET ROLE queen_member;
SELECT count(*) FROM queen.queues;
RESET ROLE;
SELECT queue, owner::text ~ '^\d+$' AS a_number FROM queen.queues ORDER BY 1;
SELECT message_offset FROM queen.push('one', '1', 'p');
SELECT queen.drop_queue('one', true), queen.drop_queue('two', true);
DROP ROLE queen_member, queen_set_only, queen_other;
--
-- A session remembers the ids of queues that it opened, and takes no other queue for one of them
--
SELECT queen.create_queue('one'), queen.create_queue('two');
SELECT count(queen.push(q, '1')), count(queen.push(q, '1')) FROM unnest(ARRAY['one', 'two']) AS q;
UPDATE queen.queue SET name = 'three' WHERE name = 'one';
UPDATE queen.queue SET name = 'one' WHERE name = 'two';
UPDATE queen.queue SET name = 'two' WHERE name = 'three';
SELECT message_offset FROM queen.push('one', '"for the second"', 'p');
SELECT q.queue_id = (SELECT max(queue_id) FROM queen.queue WHERE name IN ('one', 'two')) AS second FROM queen.queue q JOIN queen.partition p USING (queue_id) WHERE p.name = 'p' AND q.name IN ('one', 'two');
-- One that has gone is unknown, one that was made anew is another one; a rollback brings the old one back.
SELECT queen.drop_queue('one', true);
SELECT pg_temp.fails('SELECT queen.push(''one'', ''1'')');
SELECT queen.create_queue('one');
SELECT message_offset FROM queen.push('one', '1', 'p');
BEGIN;
SELECT queen.drop_queue('one', true);
SELECT queen.create_queue('one');
SELECT message_offset FROM queen.push('one', '1', 'p');
ROLLBACK;
SELECT message_offset FROM queen.push('one', '1', 'p');
-- No locks stay of those that were not it, and one of those that were.
BEGIN;
SELECT count(queen.push('one', '1')), count(queen.push('one', '1')), count(queen.push('two', '1'));
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 20737 AND pid = pg_backend_pid();
COMMIT;
-- Rights are those of who calls now.
CREATE ROLE regress_other;
GRANT USAGE ON SCHEMA queen TO regress_other;
SET ROLE regress_other;
SELECT pg_temp.fails('SELECT queen.push(''one'', ''1'')'), pg_temp.fails('SELECT queen.pop(''one'')');
RESET ROLE;
SELECT queen.drop_queue('one', true), queen.drop_queue('two', true);
REVOKE USAGE ON SCHEMA queen FROM regress_other;
DROP ROLE regress_other;
