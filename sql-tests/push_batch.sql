-- push_batch: one array, one partition, one segment.
\set QUIET on
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS queen;
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
RESET client_min_messages;
\set QUIET off
SELECT queen.create_queue('batches');
CREATE TEMP VIEW segments AS
SELECT p.partition, s.base_offset, s.message_count, octet_length(s.frames) AS bytes
  FROM queen.segment s JOIN queen.partitions p USING (partition_id) WHERE p.queue = 'batches';
SELECT * FROM queen.push_batch('batches', '[1, "two", {"three": [3]}, null, [], {}]', 'p');
SELECT * FROM queen.push_batch('batches', '[7]'::jsonb, 'p');
SELECT * FROM queen.push_batch('batches', ' [ ] ', 'p');
SELECT * FROM queen.push_batch('batches', '[]', 'never made');
SELECT * FROM queen.push_batch('batches', '[1]');
SELECT partition, base_offset, message_count FROM segments ORDER BY 1, 2;
SELECT message_offset, payload FROM queen.pop('batches', partition => 'p', auto_ack => true);
--
-- Cut at about 512 KiB, a larger message alone
--
SELECT first_offset, messages FROM queen.push_batch('batches', (SELECT jsonb_agg(repeat('x', 1000)) FROM generate_series(1, 2000)), 'cut');
SELECT count(*) AS segments, sum(message_count) AS messages, bool_and(bytes BETWEEN 300000 AND 530000 OR base_offset + message_count = 2000) AS about_512_kib,
	   bool_and(message_count > 400) AS many FROM segments WHERE partition = 'cut';
SELECT first_offset, messages FROM queen.push_batch('batches', (SELECT jsonb_agg(repeat('y', n)) FROM unnest(array[10, 700000, 20]) n), 'large');
SELECT base_offset, message_count FROM segments WHERE partition = 'large' ORDER BY 1;
SELECT message_offset, length(payload #>> '{}') FROM queen.pop('batches', 'large', partition => 'large', auto_ack => true);
-- Read on over the cuts, from the middle of a segment.
SELECT count(*), min(message_offset), max(message_offset) FROM queen.pop('batches', 'cut', 700, partition => 'cut', auto_ack => true);
SELECT count(*), min(message_offset), max(message_offset) FROM queen.pop('batches', 'cut', 10000, partition => 'cut', auto_ack => true);
-- Many of one byte: what is counted is frames, without the header that says where each ends.
SELECT first_offset, messages FROM queen.push_batch('batches', (SELECT json_agg(n % 10) FROM generate_series(0, 99999) n), 'small');
SELECT sum(message_count), count(*) BETWEEN 2 AND 10 AS few_segments, max(bytes - 12 - 4 * message_count) <= 524288 AS cut FROM segments WHERE partition = 'small';
SELECT count(*), bool_and(payload::text::int = message_offset % 10) AS same FROM queen.pop('batches', 'small', 1000000, partition => 'small', auto_ack => true);
-- All of it in one time, and in the next turn where no partition is named.
SELECT count(DISTINCT s.created_at) FROM queen.segment s JOIN queen.partitions p USING (partition_id) WHERE p.queue = 'batches' AND p.partition = 'cut';
SELECT queen.alter_queue('batches', partitions => 3);
SELECT count(DISTINCT (queen.push_batch('batches', '[1, 2]')).partition) FROM generate_series(1, 3);
--
-- Refused as a whole, with the element counted from 0
--
CREATE TEMP TABLE before AS SELECT count(*) FROM queen.segment;
SELECT pg_temp.fails($$SELECT queen.push_batch('none', '[1]')$$);
SELECT pg_temp.fails($$SELECT queen.push_batch(NULL, '[1]')$$);
SELECT pg_temp.fails($$SELECT queen.push_batch('batches', NULL)$$);
SELECT pg_temp.fails($$SELECT queen.push_batch('batches', '{"a": 1}')$$);
SELECT pg_temp.fails($$SELECT queen.push_batch('batches', '1')$$);
SELECT pg_temp.fails($$SELECT queen.push_batch('batches', '[1,]')$$);
SELECT pg_temp.fails($$SELECT queen.push_batch('batches', '\x5b315d'::bytea)$$);
SELECT pg_temp.fails($$SELECT queen.push_batch('batches', '[1]', '')$$);
SELECT pg_temp.fails($$SELECT queen.push_batch('batches', '[1]', repeat('x', 256))$$);
SELECT pg_temp.fails($$SELECT queen.push_batch('batches', '[1]', E'a\nb')$$);
SELECT pg_temp.fails($$SELECT queen.push_batch('batches', '"[1]"')$$);
SELECT pg_temp.fails($$SELECT queen.push_batch('batches', '')$$);
SELECT pg_temp.fails($$SELECT queen.push_batch('batches', '[1] [2]')$$);
SELECT pg_temp.fails($$SELECT queen.push_batch('batches', '[1')$$);
SET queen.max_message_bytes = '1kB';
SELECT pg_temp.fails($$SELECT queen.push_batch('batches', jsonb_build_array(1, 2, repeat('x', 1023)), 'p')$$);
RESET queen.max_message_bytes;
SELECT count(*) - (SELECT count FROM before) AS segments FROM queen.segment;
SELECT queen.drop_queue('batches', true);
