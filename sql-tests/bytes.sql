-- bytes: a body comes back as it was sent, byte for byte.
\set QUIET on
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS queen;
RESET client_min_messages;
\set QUIET off
SELECT queen.create_queue('bytes', dedup_window => '0');
CREATE TEMP TABLE bodies (n serial, what text, body text);
INSERT INTO bodies (what, body) VALUES
	('order of keys', '{"z":1,"a":2,"m":{"y":1,"b":2}}'),
	('large integer', '9007199254740993'),
	('larger integer', '123456789012345678901234567890.12345678901234567890'),
	('exponent', '1e2'), ('exponents', '[1E+2,-0,0.10,1e-7]'),
	('duplicate keys', '{"a":1,"a":2,"a":1}'),
	('escaped slash', '"http:\/\/x\/"'),
	('escaped NUL', '{"nul":"\u0000"}'),
	('escapes', '"\u00e4\ud83d\ude00\b\f\n\r\t\"\\"'),
	('lone surrogate', '"\ud800"'),
	('white space', E' \t\r\n{ \t\r\n"a" \t:\r\n [ ] , "b":\n{ } }\r\n\t '),
	('not ASCII', '{"ä":"日本語 😀"}'),
	('empty string', '""'), ('empty key', '{"":""}'), ('null', 'null'), ('false', 'false'),
	('brackets in strings', '["[","]","{","}",",",":","\"]"]'),
	('nested', repeat('[', 500) || repeat(']', 500)),
	('1 MB', '"' || repeat('0123456789', 100000) || '"');
-- Alone, in an array, and as an item.
SELECT count(queen.push('bytes', body, 'one')) FROM bodies;
SELECT messages FROM queen.push_batch('bytes', '[' || (SELECT string_agg(body, E' ,\n' ORDER BY n) FROM bodies) || ']', 'batch');
SELECT count(*) FROM queen.push_items('bytes', '[' || (SELECT string_agg('{ "payload" :' || body || ',"partition":"items"}', ',' ORDER BY n) FROM bodies) || ']');
SELECT p.partition, b.what, p.payload::text = b.body AS same, p.payload::text = btrim(b.body, E' \t\r\n') AS same_but_around
  FROM queen.pop('bytes', auto_ack => true) p JOIN bodies b ON b.n = p.message_offset + 1
 WHERE p.payload::text <> b.body OR p.body IS NOT NULL ORDER BY 1, 2;
-- A payload is read once more with each delivery.
SELECT count(*) FROM queen.pop('bytes', 'twice', partition => 'one', lease_time => '1 us');
SELECT count(*), bool_and(p.payload::text = b.body) AS same, min(delivery), max(delivery)
  FROM queen.pop('bytes', 'twice', partition => 'one') p JOIN bodies b ON b.n = p.message_offset + 1;
-- So is what becomes a dead letter, and what is replayed into another queue.
SELECT DISTINCT queen.reject(lease) FROM bodies, LATERAL queen.pop('bytes', 'dead', batch => n / n, partition => 'one');
SELECT count(*), bool_and(d.payload::text = b.body) AS same FROM queen.dead_letters d JOIN bodies b ON b.n = d.message_offset + 1 WHERE d.queue = 'bytes';
SELECT queen.create_queue('copies');
SELECT queen.replay('bytes', 'one', 0, (SELECT count(*) - 1 FROM bodies), 'copies');
SELECT count(*), bool_and(p.payload::text = b.body) AS same FROM queen.pop('copies', auto_ack => true) p JOIN bodies b ON b.n = p.message_offset + 1;
SELECT queen.drop_queue('copies', true);
-- An untyped literal, json and text are one; jsonb is sent as its own text.
SELECT message_offset FROM queen.push('bytes', E' {"b" : 1,"a":2 }\n', 'types');
SELECT message_offset FROM queen.push('bytes', E' {"b" : 1,"a":2 }\n'::text, 'types');
SELECT message_offset FROM queen.push('bytes', E' {"b" : 1,"a":2 }\n'::json, 'types');
SELECT message_offset FROM queen.push('bytes', E' {"b" : 1,"a":2 }\n'::jsonb, 'types');
SELECT quote_literal(payload::text) AS payload, count(*) FROM queen.pop('bytes', 'types', partition => 'types', auto_ack => true) GROUP BY 1 ORDER BY 2;
-- Every byte, none, and many.
SELECT count(queen.push('bytes', b, 'raw'))
  FROM (VALUES ((SELECT string_agg(set_byte('\x00', 0, n), '' ORDER BY n) FROM generate_series(0, 255) n)), ('\x'), (decode(repeat('00ff', 500000), 'hex'))) v (b);
SELECT message_offset, payload IS NULL AS no_json, length(body), md5(body) FROM queen.pop('bytes', 'raw', partition => 'raw', auto_ack => true);
SELECT md5((SELECT string_agg(set_byte('\x00', 0, n), '' ORDER BY n) FROM generate_series(0, 255) n)), md5(''::bytea), md5(decode(repeat('00ff', 500000), 'hex'));
SELECT DISTINCT queen.reject(lease) FROM generate_series(1, 3) n, LATERAL queen.pop('bytes', 'dead', batch => n / n, partition => 'raw');
SELECT message_offset, payload IS NULL AS no_json, md5(body) FROM queen.dead_letters WHERE queue = 'bytes' AND partition = 'raw' ORDER BY 1;
-- Bytes that would be a text are bytes still.
SELECT status FROM queen.push('bytes', '{'::bytea, 'braces');
SELECT payload, body FROM queen.pop('bytes', 'braces', partition => 'braces', auto_ack => true);
-- Arguments from a table: short ones, and long ones kept outside of the row or compressed.
CREATE TEMP TABLE source (queue text, payload text, j json, b bytea, p queen.payload, partition text, id text, headers jsonb);
ALTER TABLE source ALTER payload SET STORAGE external, ALTER b SET STORAGE external, ALTER partition SET STORAGE external, ALTER headers SET STORAGE external;
INSERT INTO source SELECT 'bytes', v, v::json, v::bytea, v::queen.payload, 'source ' || n, repeat('i', n * 3), jsonb_build_object('h', repeat('h', n * 200))
  FROM (VALUES (1, '"x"'), (240, '"' || repeat('x', 100000) || '"')) v (n, v);
SELECT count((queen.push(queue, payload, partition, id, headers), queen.push(queue, j, partition, id, headers), queen.push(queue, b, partition, id, headers), queen.push(queue, p, partition, id, headers))) FROM source;
SELECT partition, m.message_offset, m.payload::text = s.payload AS json, m.body = s.b AS bytes, m.headers = s.headers AS headers, m.transaction_id = s.id AS id
  FROM queen.pop('bytes', 'source', 1000, auto_ack => true) m JOIN source s USING (partition) ORDER BY 1, 2;
-- Headers are jsonb; ids are text, the producer's or one that stays the same.
SELECT * FROM queen.push('bytes', '1', 'ids', 'ä "id" \ 😀', '{"b": 1, "a": "\"ä\"", "n": 9007199254740993}');
SELECT * FROM queen.push('bytes', '2', 'ids');
CREATE TEMP TABLE seen AS SELECT message_offset, transaction_id, headers FROM queen.pop('bytes', 'ids', partition => 'ids', lease_time => '1 us');
SELECT CASE WHEN message_offset = 0 THEN transaction_id END AS id, headers FROM seen ORDER BY message_offset;
SELECT count(*) FROM seen JOIN queen.pop('bytes', 'ids', partition => 'ids') USING (message_offset, transaction_id);
SELECT count(*) FROM seen JOIN queen.pop('bytes', 'other', partition => 'ids') USING (message_offset, transaction_id);
-- Derived ids differ between messages and partitions.
SELECT first_offset FROM queen.push_batch('bytes', '[0, 1, 2]', 'derived a');
SELECT first_offset FROM queen.push_batch('bytes', '[0, 1, 2]', 'derived b');
SELECT count(DISTINCT transaction_id), count(transaction_id) FROM queen.pop('bytes', 'derived', 1000) WHERE partition LIKE 'derived%';
-- Headers of items, and of a message without any.
SELECT count(*) FROM queen.push_items('bytes', '[{"payload": 1, "partition": "headers", "headers": {"z": "\u00e4\/", "a": 1e2, "n": null, "o": {"x": [1, 1.50]}}}, {"payload": 2, "partition": "headers", "headers": {}}, {"payload": 3, "partition": "headers"}]');
SELECT message_offset, headers FROM queen.pop('bytes', 'headers', partition => 'headers', auto_ack => true);
SELECT queen.drop_queue('bytes', true);
