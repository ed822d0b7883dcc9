-- corrupt: damaged bytes in a segment are an error that names the place, never a wrong message.
\set QUIET on
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS queen;
SELECT queen.create_queue('damaged') \g /dev/null
SELECT queen.push_items('damaged', '[{"payload": {"n": 0}, "partition": "p", "transactionId": "id", "headers": {"h": 1}}, {"payload": {"n": 1}, "partition": "p"}, {"payload": 2, "partition": "healthy"}]') \g /dev/null
CREATE TEMP TABLE good AS SELECT s.partition_id, s.frames, s.message_count FROM queen.segment s JOIN queen.partitions p USING (partition_id) WHERE p.queue = 'damaged' AND p.partition = 'p';
-- What a pop says of the segment with these bytes. It is undone.
CREATE FUNCTION pg_temp.pop_with(bytes bytea, messages int DEFAULT NULL) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	why text;
BEGIN
	UPDATE queen.segment s SET frames = bytes, message_count = coalesce(messages, s.message_count) FROM good WHERE s.partition_id = good.partition_id;
	PERFORM * FROM queen.pop('damaged', partition => 'p', auto_ack => true);
	RAISE EXCEPTION 'not noticed';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS why = PG_EXCEPTION_DETAIL;
	RETURN SQLSTATE || ': ' || SQLERRM || coalesce(' (' || regexp_replace(nullif(why, ''), 'partition \d+', 'partition N') || ')', '');
END $$;
CREATE FUNCTION pg_temp.flip(at int) RETURNS bytea LANGUAGE sql AS $$SELECT set_byte(frames, $1, get_byte(frames, $1) # 255) FROM good$$;
RESET client_min_messages;
\set QUIET off
-- The header: version, byte order, reserved, count, the end of each frame, its checksum.
SELECT what, pg_temp.pop_with(pg_temp.flip(at))
  FROM (VALUES (0, 'version'), (1, 'byte order'), (2, 'reserved'), (4, 'count'), (8, 'first end'), (12, 'second end'), (16, 'header checksum')) v (at, what) ORDER BY at;
-- The first frame, 20 bytes of header on: checksum, kind, flags, lengths, group, id, headers, payload.
SELECT what, pg_temp.pop_with(pg_temp.flip(20 + at))
  FROM (VALUES (0, 'checksum'), (4, 'kind'), (5, 'flags'), (6, 'length of id'), (8, 'length of headers'), (12, 'length of payload'), (16, 'group'), (20, 'id'), (22, 'headers'), (30, 'payload')) v (at, what) ORDER BY at;
-- The second message is damaged, the first is sound: the place is the second.
SELECT pg_temp.pop_with(pg_temp.flip(octet_length(frames) - 1)) FROM good;
-- Cut short, made longer, empty, and a row that promises another number of messages.
SELECT pg_temp.pop_with(substr(frames, 1, octet_length(frames) - 1)), pg_temp.pop_with(frames || '\x00') FROM good;
SELECT pg_temp.pop_with(substr(frames, 1, 10)), pg_temp.pop_with('') FROM good;
SELECT pg_temp.pop_with(frames, 1), pg_temp.pop_with(frames, 3) FROM good;
-- Any byte flipped, any length cut: always noticed, with the same SQLSTATE.
SELECT left(pg_temp.pop_with(pg_temp.flip(n)), 5) AS sqlstate, count(*) FROM good, generate_series(0, octet_length(frames) - 1) n GROUP BY 1;
SELECT left(pg_temp.pop_with(substr(frames, 1, n)), 5) AS sqlstate, count(*) FROM good, generate_series(0, octet_length(frames) - 1) n GROUP BY 1;
--
-- A damaged segment stops its own partition only, and nothing is passed over
--
UPDATE queen.segment s SET frames = pg_temp.flip(40) FROM good WHERE s.partition_id = good.partition_id;
SELECT partition, message_offset, payload FROM queen.pop('damaged', partition => 'healthy', auto_ack => true);
SELECT message_offset FROM queen.push('damaged', '{"n": 2}', 'p');
UPDATE queen.segment s SET frames = good.frames FROM good WHERE s.partition_id = good.partition_id AND s.base_offset = 0;
SELECT partition, message_offset, payload, headers FROM queen.pop('damaged', auto_ack => true);
SELECT queen.drop_queue('damaged', true);
