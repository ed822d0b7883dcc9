-- queen on real input: the event log of Debian's package manager. ./demo runs it;
-- by hand, in an empty database, as a superuser:
--
--   psql -X -d DATABASE -f examples/demo.sql < /var/log/dpkg.log
--
-- dblink, from PostgreSQL's contrib, plays the consumer that crashes.

\set ON_ERROR_STOP on
\set QUIET on
\pset footer off
\pset linestyle unicode
\pset border 1
SET client_min_messages = warning;

CREATE EXTENSION queen;
CREATE EXTENSION dblink;
CREATE SCHEMA demo;

CREATE TABLE demo.log (line_no bigint GENERATED ALWAYS AS IDENTITY, line text);
\copy demo.log (line) from pstdin with (format csv, delimiter E'\x01', quote E'\x02')

-- "date time status STATE PACKAGE VERSION" or "date time ACTION PACKAGE OLD NEW"
CREATE TABLE demo.event AS
SELECT line_no, word[1] || ' ' || word[2] AS at,
	   CASE word[3] WHEN 'status' THEN word[4] ELSE word[3] END AS event,
	   split_part(CASE word[3] WHEN 'status' THEN word[5] ELSE word[4] END, ':', 1) AS package
  FROM demo.log, string_to_array(line, ' ') AS word
 WHERE word[3] IN ('status', 'install', 'upgrade', 'configure', 'trigproc', 'remove', 'purge');

\echo
\echo '1. push: every event of the package log is a message, its package is the partition.'
SELECT queen.create_queue('packages') \g /dev/null
SELECT count(*) AS messages, count(DISTINCT partition) AS partitions
  FROM queen.push_items('packages', (
		SELECT json_agg(json_build_object(
					'partition', package,
					'payload', json_build_object('line', line_no, 'at', at, 'event', event))
				ORDER BY line_no)
		  FROM demo.event));

\echo '2. group "states" pops with auto_ack and counts events per package in the same transaction.'
CREATE TABLE demo.seen (seen_no bigint GENERATED ALWAYS AS IDENTITY, package text, line_no bigint);
CREATE TABLE demo.states (package text, event text, times bigint, PRIMARY KEY (package, event));
DO $$
DECLARE
	counted bigint;
BEGIN
	LOOP
		WITH popped AS MATERIALIZED (
			SELECT partition AS package, (payload->>'line')::bigint AS line_no, payload->>'event' AS event
			  FROM queen.pop('packages', 'states', batch => 500, auto_ack => true)
		), seen AS (
			INSERT INTO demo.seen (package, line_no) SELECT package, line_no FROM popped
		)
		INSERT INTO demo.states AS s (package, event, times)
		SELECT package, event, count(*) FROM popped GROUP BY package, event
		ON CONFLICT (package, event) DO UPDATE SET times = s.times + excluded.times;
		GET DIAGNOSTICS counted = ROW_COUNT;
		COMMIT;
		EXIT WHEN counted = 0;
	END LOOP;
END $$;
SELECT package, left(string_agg(event || ' ' || times, ', ' ORDER BY times DESC, event), 75) || ' …' AS events
  FROM demo.states GROUP BY package ORDER BY sum(times) DESC, package LIMIT 3;

\echo '   Checked against the log: each message once, and in the order of its lines inside a package.'
SELECT count(*) AS seen,
	   count(*) - count(DISTINCT line_no) AS twice,
	   (SELECT count(*) FROM demo.event) - count(*) AS missing,
	   count(*) FILTER (WHERE line_no < line_before) AS out_of_order
  FROM (SELECT line_no, lag(line_no) OVER (PARTITION BY package ORDER BY seen_no) AS line_before
		  FROM demo.seen) AS s;

\echo '3. group "audit" cannot digest one message: after its third retry it is a dead letter.'
CREATE TABLE demo.answer (answer_no int GENERATED ALWAYS AS IDENTITY, delivery int, answer text);
DO $$
DECLARE
	message record;
	result text := 'retry';
BEGIN
	WHILE result = 'retry' LOOP
		SELECT * INTO STRICT message
		  FROM queen.pop('packages', 'audit', batch => 1,
						 partition => (SELECT package FROM demo.event
										GROUP BY package ORDER BY count(*) DESC, package LIMIT 1));
		result := queen.nack(message.lease, error => 'cannot be audited', delay => '0 s');
		INSERT INTO demo.answer (delivery, answer) VALUES (message.delivery, result);
		COMMIT;
	END LOOP;
END $$;
SELECT string_agg(format('delivery %s: %s', delivery, answer), ', ' ORDER BY answer_no) AS nack
  FROM demo.answer;

\echo '4. A worker of "audit" pops 100 messages; its server process is killed before it acknowledges.'
SELECT dblink_connect('worker', format('host=%s port=%s dbname=%s user=%s',
									   split_part(current_setting('unix_socket_directories'), ',', 1),
									   current_setting('port'), current_database(), current_user)) \g /dev/null
SELECT pid AS worker FROM dblink('worker', 'SELECT pg_backend_pid()') AS w (pid int) \gset
CREATE TABLE demo.crashed AS
SELECT * FROM dblink('worker', $$
	SELECT partition, message_offset
	  FROM queen.pop('packages', 'audit', batch => 100, lease_time => '2 s')$$)
	AS w (partition text, message_offset bigint);
SELECT pg_terminate_backend(:worker, 5000) AS killed, count(*) AS leases, sum(messages) AS messages_in_leases
  FROM queen.leases WHERE consumer_group = 'audit';

\echo '   When its leases have run out, the next worker gets them again, and all the others for the first time.'
DO $$
BEGIN
	WHILE EXISTS (SELECT FROM queen.leases WHERE consumer_group = 'audit' AND NOT expired) LOOP
		PERFORM pg_sleep(0.02);
	END LOOP;
END $$;
CREATE TABLE demo.again AS
SELECT * FROM queen.pop('packages', 'audit', batch => 20000, max_partitions => 20000, lease_time => '1 hour');
SELECT a.delivery, count(*) AS messages, count(c.partition) AS held_by_the_one_that_crashed
  FROM demo.again AS a LEFT JOIN demo.crashed AS c USING (partition, message_offset)
 GROUP BY a.delivery ORDER BY a.delivery;

\echo '   It is slow: it finishes half of the packages, keeps three, and gives the rest back.'
CREATE TABLE demo.work AS
SELECT lease, partition, row_number() OVER (ORDER BY md5(partition)) AS nth, count(*) OVER () AS leases
  FROM demo.again GROUP BY lease, partition;
SELECT state, count(*) AS leases, sum(messages) AS messages
  FROM queen.ack_leases((SELECT array_agg(lease) FROM demo.work WHERE nth <= leases / 2)) GROUP BY state
UNION ALL
SELECT 'released', count(*), sum(queen.release(lease)) FROM demo.work WHERE nth > leases / 2 + 3;

\echo '5. What the operator sees. Queues, and the partitions with the most messages:'
SELECT queue, owner, paused, partitions AS lanes, lease, retry_limit, max_deliveries, on_exhausted FROM queen.queues;
SELECT partition, first_offset, next_offset, messages FROM queen.partitions
 ORDER BY messages DESC, partition LIMIT 3;
\echo '   Who lags: messages behind, and messages handed out just now.'
SELECT consumer_group, partitions, behind, leased, date_trunc('milliseconds', oldest_age) AS oldest_age
  FROM queen.consumer_groups ORDER BY consumer_group;
\echo '   Leases, and the message that was given up:'
SELECT consumer_group, partition, first_offset, last_offset, messages, expired FROM queen.leases ORDER BY partition;
SELECT partition, message_offset AS "offset", reason, error, failures, deliveries, payload->>'event' AS event
  FROM queen.dead_letters;
