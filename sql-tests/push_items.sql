-- push_items: many partitions in one call, a row for each element.
\set QUIET on
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS queen;
CREATE FUNCTION pg_temp.fails(command text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	why text;
	context text;
BEGIN
	EXECUTE command;
	RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS why = PG_EXCEPTION_DETAIL, context = PG_EXCEPTION_CONTEXT;
	RETURN SQLSTATE || ': ' || left(SQLERRM, 100) || coalesce(' (' || nullif(why, '') || ')', '') ||
		coalesce(' in ' || substring(context FROM 'element \d+'), '');
END $$;
RESET client_min_messages;
\set QUIET off
SELECT queen.create_queue('items');
SELECT * FROM queen.push_items('items', '[
	{"payload": 1, "partition": "b"},
	{"partition": "a", "payload": {"n" : 2}, "transactionId": "id 2", "headers": {"h": "2"}},
	{"payload": null, "partition": "b", "headers": null, "transactionId": null},
	{"payload": "4", "partition": "a"},
	{"payload": 5},
	{"payload": 6, "partition": null}]');
SELECT partition, message_offset, payload, headers, CASE WHEN transaction_id LIKE 'id%' THEN transaction_id END AS own_id
  FROM queen.pop('items', auto_ack => true) ORDER BY 1, 2;
-- Escapes in names and ids are resolved.
SELECT item, partition, message_offset FROM queen.push_items('items', '[{"payload": 1, "partition": "\u00e4\ud83d\ude00\"\\\/", "transactionId": "t\u0041"}]');
SELECT partition, transaction_id FROM queen.pop('items', 'names', partition => 'ä😀"\/', auto_ack => true);
SELECT * FROM queen.push_items('items', '[]');
-- Bodies that look like the object around them stay whole; white space anywhere.
SELECT item, partition, message_offset FROM queen.push_items('items', E' [ \n{ "payload" : {"payload":[{"partition":"x"}],"}":"]"} , "partition" :\t"within" }\r\n, {"partition":"within","payload":"\\\\"} ] ');
SELECT message_offset, payload FROM queen.pop('items', 'within', partition => 'within', auto_ack => true);
--
-- One segment for each partition, the order of each kept
--
SELECT count(*), count(DISTINCT partition), bool_and(item = rank) AS in_order
  FROM (SELECT i.*, row_number() OVER () - 1 AS rank
		  FROM queen.push_items('items', (SELECT jsonb_agg(jsonb_build_object('payload', n, 'partition', 'many ' || n % 1000) ORDER BY n)
											FROM generate_series(0, 9999) n)) i) x;
SELECT count(*) AS segments, min(message_count), max(message_count) FROM queen.segment s JOIN queen.partitions p USING (partition_id)
 WHERE p.queue = 'items' AND p.partition LIKE 'many%';
SELECT count(*), bool_and(payload::text::int = message_offset * 1000 + substr(partition, 6)::int) AS in_order
  FROM queen.pop('items', 'many', 100000, max_partitions => 10000, auto_ack => true) WHERE partition LIKE 'many%';
--
-- More partitions than queen.max_partition_locks: one lock on the queue's appends instead
--
CREATE TEMP VIEW append_locks AS
SELECT CASE objsubid WHEN 20738 THEN 'queue append' WHEN 20740 THEN 'partition append' WHEN 20744 THEN 'partition creation' END AS lock, mode, count(*)
  FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid() AND objsubid IN (20738, 20740, 20744) GROUP BY 1, 2 ORDER BY 1, 2;
SET queen.max_partition_locks = 3;
BEGIN;
SELECT count(*) FROM queen.push_items('items', '[{"payload": 1, "partition": "a"}, {"payload": 1, "partition": "b"}, {"payload": 1, "partition": "lock 1"}]');
SELECT * FROM append_locks;
ROLLBACK;
BEGIN;
SELECT count(*) FROM queen.push_items('items', '[{"payload": 1, "partition": "a"}, {"payload": 1, "partition": "b"}, {"payload": 1, "partition": "lock 1"}, {"payload": 1, "partition": "lock 2"}]');
SELECT * FROM append_locks;
SELECT message_offset FROM queen.push('items', '1', 'lock 1');
SELECT * FROM append_locks;
ROLLBACK;
-- A transaction that pushed before is not upgraded: two of them would wait for each other.
BEGIN;
SELECT message_offset FROM queen.push('items', '1', 'a');
SELECT count(*) FROM queen.push_items('items', '[{"payload": 1, "partition": "a"}, {"payload": 1, "partition": "b"}, {"payload": 1, "partition": "lock 1"}, {"payload": 1, "partition": "lock 2"}]');
SELECT * FROM append_locks;
ROLLBACK;
-- What a savepoint locked goes with it: either kind may follow.
BEGIN;
SAVEPOINT s;
SELECT count(*) FROM queen.push_items('items', '[{"payload": 1, "partition": "a"}, {"payload": 1, "partition": "b"}, {"payload": 1, "partition": "lock 1"}, {"payload": 1, "partition": "lock 2"}]');
ROLLBACK TO s;
SELECT message_offset FROM queen.push('items', '1', 'a');
SELECT * FROM append_locks;
ROLLBACK TO s;
SELECT count(*) FROM queen.push_items('items', '[{"payload": 1, "partition": "a"}, {"payload": 1, "partition": "b"}, {"payload": 1, "partition": "lock 1"}, {"payload": 1, "partition": "lock 2"}]');
SELECT * FROM append_locks;
COMMIT;
SELECT * FROM append_locks;
RESET queen.max_partition_locks;
--
-- Refused as a whole, with the element counted from 0
--
CREATE TEMP TABLE before AS SELECT (SELECT count(*) FROM queen.segment) AS segments, (SELECT count(*) FROM queen.partition) AS partitions;
CREATE FUNCTION pg_temp.second(element text) RETURNS text LANGUAGE sql AS $$
	SELECT pg_temp.fails(format('SELECT queen.push_items(''items'', %L)', '[{"payload": 1, "partition": "untouched"}, ' || element || ']'))
$$;
SELECT pg_temp.fails($$SELECT queen.push_items('none', '[]')$$);
SELECT pg_temp.fails($$SELECT queen.push_items(NULL, '[]')$$);
SELECT pg_temp.fails($$SELECT queen.push_items('items', NULL)$$);
SELECT pg_temp.fails($$SELECT queen.push_items('items', '{}')$$);
SELECT pg_temp.fails($$SELECT queen.push_items('items', '\x5b5d'::bytea)$$);
SELECT pg_temp.second('1');
SELECT pg_temp.second('[]');
SELECT pg_temp.second('{}');
SELECT pg_temp.second('{"partition": "p"}');
SELECT pg_temp.second('{"payload": 1, "partiton": "p"}');
SELECT pg_temp.second('{"payload": 1, "payload": 2}');
SELECT pg_temp.second('{"payload": 1, "\u0070ayload": 2}');
SELECT pg_temp.second('{"payload": 1, "": 2}');
SELECT pg_temp.second('{"payload": 1, "Partition": "p"}');
SELECT pg_temp.second('{"payload": 1, "partition": "p", "partition": null}');
SELECT pg_temp.second('null');
SELECT pg_temp.second('"payload"');
SELECT pg_temp.second('{"payload": 1, "headers": "{}"}');
-- Half a surrogate pair is no string of PostgreSQL's: 22P02 as the input of jsonb says, wherever it stands.
SELECT left(pg_temp.second('{"payload": 1, "headers": {"a": "\ud83d"}}'), 5) AS headers, left(pg_temp.second('{"payload": 1, "partition": "\ud83d"}'), 5) AS partition,
	   left(pg_temp.second('{"payload": 1, "partition": "\ude00\ud83d"}'), 5) AS wrong_order, left(pg_temp.second('{"payload": 1, "transactionId": "\ude00"}'), 5) AS id;
SELECT pg_temp.second('{"payload": 1, "partition": {"p": 1}}');
SELECT pg_temp.second('{"payload": 1, "partition": 1}');
SELECT pg_temp.second('{"payload": 1, "partition": ""}');
SELECT pg_temp.second('{"payload": 1, "partition": "a\nb"}');
SELECT pg_temp.second('{"payload": 1, "partition": "' || repeat('x', 256) || '"}');
SELECT pg_temp.second('{"payload": 1, "partition": "\u0000"}');
SELECT pg_temp.second('{"payload": 1, "transactionId": 7}');
SELECT pg_temp.second('{"payload": 1, "transactionId": ""}');
SELECT pg_temp.second('{"payload": 1, "transactionId": "' || repeat('x', 1025) || '"}');
SELECT pg_temp.second('{"payload": 1, "headers": [1]}');
SELECT pg_temp.second('{"payload": 1, "headers": {"a": "\u0000"}}');
SELECT pg_temp.second('{"payload": 1, "headers": {"a": "' || repeat('x', 65536) || '"}}');
SELECT pg_temp.second('{"payload": 1');
SET queen.max_message_bytes = '1kB';
SELECT pg_temp.second('{"payload": "' || repeat('x', 1023) || '"}');
RESET queen.max_message_bytes;
SELECT (SELECT count(*) FROM queen.segment) - segments AS segments, (SELECT count(*) FROM queen.partition) - partitions AS partitions FROM before;
SELECT queen.drop_queue('items', true);
