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
-- CRC-32C, its four bytes with the lowest first.
CREATE FUNCTION pg_temp.crc(bytes bytea) RETURNS bytea LANGUAGE plpgsql AS $$
DECLARE
	crc bigint := 4294967295;
BEGIN
	FOR i IN 0 .. octet_length(bytes) - 1 LOOP
		crc := crc # get_byte(bytes, i);
		FOR bit IN 1 .. 8 LOOP
			crc := (crc >> 1) # CASE WHEN crc & 1 = 1 THEN 2197175160 ELSE 0 END;
		END LOOP;
	END LOOP;
	bytes := '\x00000000';
	FOR i IN 0 .. 3 LOOP
		bytes := set_byte(bytes, i, (((crc # 4294967295) >> (8 * i)) & 255)::int);
	END LOOP;
	RETURN bytes;
END $$;
-- The good bytes with some of them replaced, and the checksums of header and first frame (bytes 20 to 58) made right again.
CREATE FUNCTION pg_temp.forge(at int DEFAULT 0, instead bytea DEFAULT '') RETURNS bytea LANGUAGE plpgsql AS $$
DECLARE
	bytes bytea := (SELECT overlay(frames placing instead from at + 1) FROM good);
BEGIN
	bytes := overlay(bytes placing pg_temp.crc(substr(bytes, 1, 16)) from 17);
	RETURN overlay(bytes placing pg_temp.crc(substr(bytes, 25, 34)) from 21);
END $$;
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
BEGIN;
UPDATE queen.segment s SET frames = pg_temp.flip(octet_length(good.frames) - 1) FROM good WHERE s.partition_id = good.partition_id;
SELECT partition, message_offset, payload FROM queen.pop('damaged', batch => 1, partition => 'p', auto_ack => true);
\set VERBOSITY terse
SELECT * FROM queen.pop('damaged', batch => 1, partition => 'p', auto_ack => true);
\set VERBOSITY default
ROLLBACK;
-- Cut short, made longer, empty, and a row that promises another number of messages.
SELECT pg_temp.pop_with(substr(frames, 1, octet_length(frames) - 1)), pg_temp.pop_with(frames || '\x00') FROM good;
SELECT pg_temp.pop_with(substr(frames, 1, 10)), pg_temp.pop_with('') FROM good;
SELECT pg_temp.pop_with(frames, 1), pg_temp.pop_with(frames, 3) FROM good;
-- Any byte flipped, any length cut: always noticed, with the same SQLSTATE.
SELECT left(pg_temp.pop_with(pg_temp.flip(n)), 5) AS sqlstate, count(*) FROM good, generate_series(0, octet_length(frames) - 1) n GROUP BY 1;
SELECT left(pg_temp.pop_with(substr(frames, 1, n)), 5) AS sqlstate, count(*) FROM good, generate_series(0, octet_length(frames) - 1) n GROUP BY 1;
--
-- Wrong, but with the right checksums: no length is trusted
--
SELECT pg_temp.forge() = frames AS checksums_are_right FROM good;
SELECT what, pg_temp.pop_with(pg_temp.forge(at, instead))
  FROM (VALUES (0, 'version', '\x02'::bytea), (1, 'byte order', 'B'), (2, 'reserved', '\x0100'), (4, 'count 0', '\x00000000'), (4, 'count 3', '\x03000000'), (4, 'count of all ones', '\xffffffff'),
	(8, 'first end 0', '\x00000000'), (8, 'first end in its frame''s header', '\x13000000'), (8, 'first end behind the second', '\xff000000'), (8, 'first end of all ones', '\xffffffff'),
	(12, 'second end before the last byte', '\x41000000'), (12, 'second end behind the last byte', '\x43000000'), (12, 'second end of all ones', '\xffffffff'),
	(24, 'kind 0', '\x00'), (24, 'kind 3', '\x03'), (25, 'flags', '\x01'), (26, 'length of id too small', '\x0100'), (26, 'length of id of all ones', '\xffff'),
	(28, 'length of headers too large', '\x09000000'), (28, 'length of headers of all ones', '\xffffffff'),
	(32, 'length of payload too small', '\x07000000'), (32, 'length of payload of all ones', '\xffffffff'),
	(28, 'lengths that add up only in 32 bits', '\x0800008008000080')) v (at, what, instead);
--
-- A damaged segment stops its own partition only, and nothing is passed over
--
UPDATE queen.segment s SET frames = pg_temp.flip(40) FROM good WHERE s.partition_id = good.partition_id;
SELECT partition, message_offset, payload FROM queen.pop('damaged', partition => 'healthy', auto_ack => true);
SELECT message_offset FROM queen.push('damaged', '{"n": 2}', 'p');
SELECT message_offset FROM queen.push('damaged', '3', 'healthy');
SELECT partition, message_offset, payload, queen.ack(lease) FROM queen.pop('damaged', partition => 'healthy');
\set VERBOSITY terse
SELECT * FROM queen.pop('damaged', partition => 'p');
SELECT * FROM queen.pop('damaged', partition => 'p', auto_ack => true);
SELECT * FROM queen.pop('damaged');
SELECT queen.replay('damaged', 'p', 0, 2, 'copy') FROM queen.create_queue('copy');
\set VERBOSITY default
BEGIN;
SELECT old_committed, new_committed FROM queen.seek('damaged', 'default', partition => 'p', to_offset => 2);
SELECT message_offset, payload FROM queen.pop('damaged', partition => 'p', auto_ack => true);
ROLLBACK;
SELECT count(*) FROM queen.queues WHERE queue = 'copy';
SELECT count(*) FROM queen.pop('damaged', partition => 'healthy');
SELECT partition, committed, behind, leased FROM queen.cursors WHERE queue = 'damaged' ORDER BY 1;
UPDATE queen.segment s SET frames = good.frames FROM good WHERE s.partition_id = good.partition_id AND s.base_offset = 0;
SELECT partition, message_offset, payload, headers FROM queen.pop('damaged', auto_ack => true);
-- Damage done while a lease is held: the lease goes on, and what would copy the message raises and moves nothing.
SELECT new_committed FROM queen.seek('damaged', 'default', partition => 'p', to_beginning => true);
SELECT lease FROM queen.pop('damaged', partition => 'p', batch => 2) LIMIT 1 \gset
UPDATE queen.segment s SET frames = pg_temp.flip(octet_length(good.frames) - 1) FROM good WHERE s.partition_id = good.partition_id AND s.base_offset = 0;
SELECT queen.renew(:'lease') IS NOT NULL AS renewed;
\set VERBOSITY terse
SELECT queen.reject(:'lease', 1, complete_before => true);
\echo :LAST_ERROR_SQLSTATE
\set VERBOSITY default
SELECT committed, leased, failures FROM queen.cursors WHERE queue = 'damaged' AND partition = 'p';
SELECT queen.nack(:'lease', 1, complete_before => true, delay => '0');
SELECT committed, leased, failures FROM queen.cursors WHERE queue = 'damaged' AND partition = 'p';
\set VERBOSITY terse
SELECT * FROM queen.pop('damaged', partition => 'p');
\set VERBOSITY default
SELECT count(*) FROM queen.dead_letters WHERE queue = 'damaged';
-- purge and drop read no frames.
BEGIN;
SELECT queen.purge('damaged');
ROLLBACK;
SELECT queen.drop_queue('damaged', true);
