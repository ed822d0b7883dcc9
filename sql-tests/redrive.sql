-- redrive: dead letters are looked at, selected, sent back, purged; envelopes keep their bytes.
\set QUIET on
\pset format unaligned
SET client_min_messages = warning;
SET timezone = 'UTC';
CREATE EXTENSION IF NOT EXISTS queen;
SELECT last_value - CASE WHEN is_called THEN 0 ELSE 1 END AS base FROM queen.dead_letter_dead_letter_id_seq \gset
-- The error of a statement, its SQLSTATE first. What it changed is undone.
CREATE FUNCTION pg_temp.fails(command text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	why text;
BEGIN
	EXECUTE command;
	RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS why = PG_EXCEPTION_DETAIL;
	RETURN SQLSTATE || ': ' || SQLERRM || coalesce(' (' || nullif(why, '') || ')', '');
END $$;
-- Gives up on all that a group can pop, message by message.
CREATE FUNCTION pg_temp.bury(queue text, consumer_group text DEFAULT 'g', reason text DEFAULT 'failed', error text DEFAULT 'boom')
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	p text;
	l uuid;
BEGIN
	FOR p IN SELECT v.partition FROM queen.partitions v WHERE v.queue = $1 ORDER BY 1 LOOP
		LOOP
			SELECT m.lease INTO l FROM queen.pop($1, $2, 1, p) m;
			EXIT WHEN NOT FOUND;
			PERFORM queen.reject(l, reason => $3, error => $4);
		END LOOP;
	END LOOP;
END $$;
-- The bodies and headers that a group pops, those headers left out that tell times and ids.
CREATE FUNCTION pg_temp.popped(queue text, consumer_group text DEFAULT 'g', OUT partition text, OUT n bigint, OUT body text, OUT headers jsonb, OUT tx text)
RETURNS SETOF record LANGUAGE sql AS $$
	SELECT p.partition, p.message_offset, coalesce(p.payload::text, p.body::text), p.headers - '{queen-first-created-at,queen-redriven-from}'::text[], regexp_replace(p.transaction_id, '^[0-9]+-', 'partition-')
	  FROM queen.pop($1, $2, auto_ack => true) p ORDER BY p.partition, p.message_offset
$$;
-- Six envelopes.
CREATE TEMP TABLE fixture (name text PRIMARY KEY, body text);
INSERT INTO fixture VALUES
	('plain', '{"job":"urn:shop:order:placed","trace_id":"7b0d","data":{"order":7},"meta":{"id":"m-1","queue":"shop","lang":"php","schema_version":1,"created_at":1767225600000},"attempts":2}'),
	('alias', '{"urn":"urn:shop:order:paid","job":"","trace_id":"7b0e","data":{},"meta":{"id":"m-2","queue":"shop","lang":"go","schema_version":1,"created_at":1767225600001},"attempts":0}'),
	('dead', '{"job":"urn:shop:order:sent","trace_id":"7b0f","data":{"a":[1]},"meta":{"id":"m-3","queue":"shop.other","lang":"php","schema_version":1,"created_at":1767225600002},"attempts":3,"dead_letter":{"reason":"failed","error":"no stock","exception":"App\\Stock\\Empty","failed_at":1767225660000,"original_queue":"shop","attempts":3,"lang":"php"}}'),
	('numbers', '{"trace_id":"ünï-日本-😀","meta":{"schema_version":1,"id":"m-4","queue":"shop","lang":"js","created_at":1767225600003},"data":{"i":7,"j":1299,"f":0.5,"t":true,"n":null,"s":"Grüße"},"attempts":1,"job":"urn:shop:größe"}'),
	('version 2', '{"job":"urn:shop:x","trace_id":"t","data":{},"meta":{"id":"m-5","queue":"shop","lang":"go","schema_version":2,"created_at":1},"attempts":1}'),
	('no urn', '{"trace_id":"t","data":{},"meta":{"id":"m-6","queue":"shop","lang":"go","schema_version":1,"created_at":1},"attempts":1}');
RESET client_min_messages;
\set QUIET off

--
-- reset_envelope: dead_letter goes, attempts becomes 0, nothing else changes by a byte
--
SELECT name, queen.reset_envelope(body::json) FROM fixture ORDER BY name;
-- What follows is an envelope with E in the place of its members job and meta.
CREATE FUNCTION pg_temp.reset(body text) RETURNS text LANGUAGE sql AS $$
	SELECT replace(queen.reset_envelope(replace($1, 'E', '"job":"j","meta":{"schema_version":1}')::json)::text, '"job":"j","meta":{"schema_version":1}', 'E')
$$;
SELECT body, pg_temp.reset(body) FROM (VALUES
	('{E}'), ('{E,"attempts":3}'), ('{"attempts":3,E}'), ('{"dead_letter":{},E}'), ('{"dead_letter":1,"attempts":1,E}'), ('{E,"dead_letter":{"attempts":5}}'),
	('{E,"data":{"attempts":3,"dead_letter":{"x":1}},"attempts":3}'), ('{E,"attempts":1,"attempts":2,"dead_letter":1,"dead_letter":2}'),
	('{"dead_letter":1,"dead_letter":2,E,"dead_letter":3,"z":9007199254740993}'), ('{E,"dead\u005fletter":{"a":1},"\u0061ttempts":7}'), ('{E,"dead_letterx":1,"attempt":2,"Attempts":3}'),
	('{E,"n":9007199254740993,"d":1e2,"e":1.0,"s":"\u00e4\/","attempts":12345678901234567890}'), ('{E,"attempts":"3","s":"\"dead_letter\":1,"}'), ('{E,"attempts":[{"dead_letter":[]}],"x":"}"}'),
	('{E,"attempts":null}'), ('{E,"attempts":0}')) b (body);
SELECT replace(replace(replace(b.reset, E'\t', '<tab>'), E'\r', '<cr>'), E'\n', '<lf>') AS reset
  FROM (VALUES (E' \t{ \r\n"attempts" \t:\t 3 ,\n\t"dead_letter"\n:\r{ "a" : [ 1 , 2 ] }\t, \nE \n } \r\n')) s (body), LATERAL (SELECT pg_temp.reset(s.body)) b (reset);
-- Bodies that are no envelope, and those of a version that nobody knows, stay as they are.
SELECT body, queen.reset_envelope(body::json)::text = body AS same FROM (VALUES ('{}'), ('[]'), ('1'), ('null'), ('"x"'), ('{"attempts":3,"dead_letter":1}'),
	('{"job":"j","attempts":3}'), ('{"job":"j","meta":{},"attempts":3}'), ('{"job":"j","meta":[1],"attempts":3}'), ('{"job":7,"meta":{"schema_version":1},"attempts":3}'), ('{"job":"","urn":"","meta":{"schema_version":1},"attempts":3}'),
	('{"job":"j","meta":{"schema_version":"1"},"attempts":3}'), ('{"job":"j","meta":{"schema_version":10},"attempts":3}'), ('{"job":"j","meta":{"schema_version":1.5},"attempts":3}'), ('{"job":"j","meta":{"schema_version":-1},"attempts":3}'), ('{"job":"j","meta":{"schema_version":1,"schema_version":2},"attempts":3}'),
	('{"job":"\u0000","meta":{"schema_version":1},"attempts":3}'), ('{"job":"\ud800","meta":{"schema_version":1},"attempts":3}')) b (body);
-- A string that no text can hold is one that says nothing; the rest of the envelope is what it is.
SELECT pg_temp.reset('{E,"attempts":3,"trace_id":"\u0000","dead_letter":{"error":"\ud800 \u0000"}}');
SELECT pg_temp.reset('{E,"attempts":3}'), queen.reset_envelope('{"job":"j","meta":{"schema_version":1.0},"attempts":3}');
SELECT pg_temp.fails('SELECT queen.reset_envelope(NULL)');

--
-- is_replay
--
SELECT headers, queen.is_replay(headers) FROM (VALUES ('{"bq-replay-bypass": "1"}'::jsonb), ('{"bq-replay-bypass": "0"}'), ('{"bq-replay-bypass": null}'), ('{"BQ-Replay-Bypass": "1"}'), ('{}'), ('[]'), ('"bq-replay-bypass"'), (NULL)) h (headers);

--
-- Our own dead letters: each body goes back where it came from, for the group that gave it up
--
SELECT queen.create_queue('shop'), queen.create_queue('shop.copy');
SELECT FROM queen.push('shop', (SELECT body FROM fixture WHERE name = 'plain'), 'a', 'tx-1', '{"h": [1]}');
SELECT FROM queen.push('shop', (SELECT body FROM fixture WHERE name = 'dead'), 'a');
SELECT FROM queen.push('shop', 'not json'::bytea, 'b');
SELECT FROM queen.push('shop', ''::bytea, 'b');
SELECT FROM queen.push('shop', '\x00'::bytea, 'b');
SELECT FROM queen.push('shop', '[1, 2]', 'b');
SELECT FROM queen.push('shop', '{"dead_letter": 1,  "attempts": 5}', 'c');
SELECT FROM queen.push('shop', (SELECT body FROM fixture WHERE name = 'version 2'), 'c');
SELECT count(*) FROM queen.pop('shop', 'audit', auto_ack => true);
SELECT pg_temp.bury('shop');
SELECT dead_letter_id - :base AS id, partition, consumer_group, message_offset, regexp_replace(transaction_id, '^[0-9]+-', 'partition-') AS tx, payload, body, headers, reason, error, failures, deliveries, age > '0' AS age, redriven_from
  FROM queen.dead_letters WHERE queue = 'shop' ORDER BY dead_letter_id;
SELECT queue, reason, error, dead_letters, first_dead_at <= last_dead_at AS times FROM queen.dead_letter_summary WHERE queue = 'shop';
-- A dry run is the plan, in a read-only transaction, too.
BEGIN TRANSACTION READ ONLY;
SELECT dead_letter_id - :base AS id, message_id, trace_id, urn, reason, source, source_offset, target, redriven, bypassed, why_not, partition, message_offset FROM queen.redrive('shop', dry_run => true, bypass => true);
SELECT pg_temp.fails('SELECT FROM queen.redrive(''shop'')');
COMMIT;
SELECT count(*) FROM queen.dead_letters WHERE queue = 'shop';
SELECT dead_letter_id - :base AS id, message_id, trace_id, urn, reason, source, source_offset, target, redriven, bypassed, why_not, partition, message_offset FROM queen.redrive('shop');
SELECT dead_letter_id - :base AS id, payload FROM queen.dead_letters WHERE queue = 'shop';
SELECT * FROM pg_temp.popped('shop', 'audit');
SELECT * FROM pg_temp.popped('shop');
SELECT consumer_group, behind FROM queen.consumer_groups WHERE queue = 'shop' ORDER BY 1;
SELECT action, arguments, done_by::text = current_user AS me, done, skipped FROM queen.dead_letter_history WHERE queue = 'shop' ORDER BY log_id;

--
-- A second failure is a dead letter again, with fresh counts, linked to the first; age is kept in headers
--
SELECT FROM queen.push('shop', '{"again": 1}', 'a');
SELECT pg_temp.bury('shop');
SELECT max(dead_letter_id) AS first FROM queen.dead_letters WHERE queue = 'shop' \gset
SELECT redriven, bypassed, message_offset FROM queen.redrive_ids(array[:first], bypass => true);
SELECT pg_temp.bury('shop', error => 'boom again');
SELECT max(dead_letter_id) AS second FROM queen.dead_letters WHERE queue = 'shop' \gset
SELECT redriven_from = :first AS linked, error, failures, deliveries, headers - '{queen-first-created-at,queen-redriven-from}'::text[] AS headers, headers ->> 'queen-redriven-from' = :'first' AS from_first,
	   (headers ->> 'queen-first-created-at')::timestamptz < created_at AS older FROM queen.dead_letters WHERE dead_letter_id = :second;
-- Without bypass the header that a redrive added goes; what a producer set stays.
SELECT redriven, bypassed FROM queen.redrive_ids(array[:second]);
SELECT FROM queen.push('shop', '2', 'a', headers => '{"bq-replay-bypass": "1"}');
SELECT n, body, headers, queen.is_replay(headers) FROM pg_temp.popped('shop');
SELECT FROM queen.push('shop', '3', 'a', headers => '{"bq-replay-bypass": "1"}');
SELECT pg_temp.bury('shop');
SELECT redriven FROM queen.redrive('shop', bypass => true, filter => '$.payload == 3') WHERE redriven;
SELECT pg_temp.bury('shop');
SELECT redriven FROM queen.redrive('shop', filter => '$.payload == 3') WHERE redriven;
SELECT n, body, headers FROM pg_temp.popped('shop');
-- So does another value of it, which comes back.
SELECT FROM queen.push('shop', '"zero"', 'a', headers => '{"bq-replay-bypass": "0"}');
SELECT pg_temp.bury('shop');
SELECT count(*) FROM queen.redrive('shop', bypass => true, filter => '$.payload == "zero"') WHERE redriven;
SELECT headers - 'queen-first-created-at' - 'queen-redriven-from' AS headers, queen.is_replay(headers) FROM queen.read('shop', 'a', 12);
SELECT pg_temp.bury('shop');
SELECT count(*) FROM queen.redrive('shop', filter => '$.payload == "zero"') WHERE redriven;
SELECT body, headers FROM pg_temp.popped('shop');
-- An envelope is reset whatever its strings hold.
SELECT FROM queen.push('shop', '{"job":"j","meta":{"schema_version":1,"id":"\ud800"},"attempts":3,"dead_letter":{"error":"\u0000"}}', 'a');
SELECT pg_temp.bury('shop');
SELECT urn, message_id, redriven FROM queen.redrive('shop', filter => '$.reason == "failed"') WHERE urn = 'j';
SELECT urn, message_id, redriven FROM queen.redrive('shop') WHERE urn = 'j';
SELECT body FROM pg_temp.popped('shop');
-- Age counts from the first push; a forged time is not believed.
SELECT FROM queen.push('shop', '"old"', 'age', headers => '{"queen-first-created-at": "2020-01-01T00:00:00+00:00"}') a, queen.push('shop', '"bad"', 'age', headers => '{"queen-first-created-at": "2020-99-99"}') b,
	queen.push('shop', '"future"', 'age', headers => '{"queen-first-created-at": "9999-01-01"}') c, queen.push('shop', '"endless"', 'age', headers => '{"queen-first-created-at": "-infinity"}') d, queen.push('shop', '"deep"', 'age', headers => '{"x": {"queen-first-created-at": "2020-01-01"}}') e;
SELECT pg_temp.bury('shop');
SELECT payload, first_created_at = created_at AS own, age > '1 year' AS old FROM queen.dead_letters WHERE queue = 'shop' AND partition = 'age' ORDER BY dead_letter_id;
SELECT queen.purge_dead_letters('shop', '$.partition == "age"');
-- A replay of a message that was sent back is none of the redrive's.
SELECT FROM queen.push('shop', '"replayed"', 'replayed');
SELECT pg_temp.bury('shop');
SELECT count(*) FROM queen.redrive('shop', bypass => true, filter => '$.payload == "replayed"') WHERE redriven;
SELECT queen.replay('shop', 'replayed', 1, 1, 'shop.copy');
SELECT headers - 'queen-first-created-at' AS headers FROM queen.read('shop.copy', 'replayed');
SELECT count(*) FROM pg_temp.popped('shop');
-- A forged link is no error.
SELECT FROM queen.push('shop', '4', 'forged', headers => '{"queen-redriven-from": "1; DROP"}') a, queen.push('shop', '5', 'forged', headers => '{"queen-redriven-from": 99999999999999999999}') b;
SELECT pg_temp.bury('shop');
SELECT payload, redriven_from FROM queen.dead_letters WHERE queue = 'shop' AND partition = 'forged' ORDER BY 1::text, dead_letter_id;

--
-- all_groups, to_queue, groups that are gone
--
SELECT queen.create_queue('multi');
SELECT FROM queen.push_batch('multi', '[1, 2]', 'p');
SELECT count(*) FROM queen.pop('multi', 'other', auto_ack => true);
SELECT pg_temp.bury('multi');
SELECT redriven FROM queen.redrive('multi', all_groups => true, filter => '$.payload == 1');
SELECT n, body FROM pg_temp.popped('multi', 'other');
SELECT target, partition, redriven, message_offset FROM queen.redrive('multi', to_queue => 'shop.copy');
SELECT partition, n, body, headers FROM pg_temp.popped('shop.copy', 'anyone');
SELECT pg_temp.bury('multi');
SELECT queen.unsubscribe('multi', 'g');
SELECT redriven, why_not FROM queen.redrive('multi');
SELECT queen.subscribe('multi', 'g', 'new');
SELECT redriven, why_not, message_offset FROM queen.redrive('multi');
SELECT n, body FROM pg_temp.popped('multi');
-- A group's number of messages is not held against another one's: it passes what is not for it, in one step.
SELECT FROM queen.push_batch('multi', (SELECT json_agg(n) FROM generate_series(1, 1000) n), 'p');
SELECT count(*) FROM queen.pop('multi', 'other', 1000, auto_ack => true);
SELECT pg_temp.bury('multi');
SELECT count(*) FROM queen.redrive('multi');
SELECT FROM queen.push('multi', '"after"', 'p');
SELECT n, body FROM pg_temp.popped('multi', 'other');
SELECT committed, acked, behind FROM queen.cursors WHERE queue = 'multi' AND consumer_group = 'other';
SELECT count(*) FROM queen.pop('multi', 'g', 2000, auto_ack => true);

--
-- Selecting: consumer_group and filter combine; max caps how many are looked at
--
SELECT queen.create_queue('select');
SELECT FROM queen.push_items('select', '[{"payload": {"n": 1, "s": "x"}, "partition": "p", "headers": {"tenant": "a"}}, {"payload": {"n": 2}, "partition": "q"}, {"payload": "text", "partition": "q"}, {"payload": {"n": "\u0000"}, "partition": "r"}, {"payload": {"n": null}, "partition": "r"}]');
SELECT FROM queen.push('select', '{"n": 7}'::bytea, 's') a, queen.push('select', '1, "reason": "forged"'::bytea, 's') b;
SELECT pg_temp.bury('select', 'g', 'failed', 'timeout');
SELECT pg_temp.bury('select', 'h', 'rejected', NULL);
CREATE FUNCTION pg_temp.selected(filter jsonpath, consumer_group text DEFAULT '', max bigint DEFAULT 0) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(CASE why_not WHEN 'dry_run' THEN 'yes' WHEN 'not_selected' THEN '-' ELSE why_not END, ' ' ORDER BY dead_letter_id) FROM queen.redrive('select', $2, $1, max => $3, dry_run => true)
$$;
SELECT string_agg(coalesce(payload::text, body::text), ' ' ORDER BY dead_letter_id) FROM queen.dead_letters WHERE queue = 'select' AND consumer_group = 'g';
SELECT f.filter, pg_temp.selected(f.filter, 'g') FROM (VALUES ('$'::jsonpath), ('$.reason == "failed"'), ('$ ? (@.reason == "failed")'), ('$.reason == "rejected"'), ('$ ? (@.reason == "rejected")'), ('$.payload.n > 1'), ('$.payload ? (@.n > 1)'), ('$.payload.n'), ('exists($.payload.n)'),
	('$.payload.n == 7'), ('$.payload == "text"'), ('$.payload.n == null'), ('strict $.payload.n == 1'), ('strict $.payload.n'), ('$.error starts with "time"'), ('$.error like_regex "^TIME" flag "i"'), ('$.headers.tenant == "a"'), ('$.partition == "q"'),
	('$.failures == 0 && $.deliveries == 1'), ('!($.partition == "q")'), ('$.payload.n.double() == 2'), ('$.payload.n + 1'), ('$.dead_at.datetime() > "2026-01-01T00:00:00+00:00".datetime()'), ('$.created_at.datetime() < "2026-01-01T00:00:00+00:00".datetime()'), ('$.payload.nothing'), ('true'), ('false'), ('null'), ('($.payload.s == 1) is unknown'), ('($.payload.n > 1).type()')) f (filter);
SELECT pg_temp.selected('$'), pg_temp.selected('$', 'h'), pg_temp.selected('$.payload.n == 2', 'h'), pg_temp.selected('$.error == null');
SELECT max, pg_temp.selected('$.payload.n >= 2', 'g', max) FROM unnest(array[1, 2, 3, 7, 100]) max;
SELECT dead_letter_id - :base - (SELECT min(dead_letter_id) - :base - 1 FROM queen.dead_letters WHERE queue = 'select') AS nth, redriven, why_not FROM queen.redrive('select', 'g', '$.payload.n >= 2', max => 3);
SELECT redriven, why_not FROM queen.redrive('select', 'nobody', max => 2);
SELECT (queen.redrive_summary('select', 'g', '$.payload.n == 7', 'shop.copy')::jsonb) - 'items' AS summary;
SELECT jsonb_pretty(queen.redrive_summary('select', 'g', '$.payload.n == 1', max => 1)::jsonb #- '{items,0,dead_letter_id}');
SELECT queen.redrive_summary('select', 'g', dry_run => true, max => 1)::jsonb -> 'items' -> 0 ->> 'why_not' AS why_not;
SELECT queen.redrive_summary('shop.copy');
SELECT arguments, done, skipped FROM queen.dead_letter_history WHERE queue = 'select' ORDER BY log_id DESC LIMIT 1;
-- By ids: ascending, each once; one that is nobody's is told.
SELECT min(dead_letter_id) AS lowest, max(dead_letter_id) AS highest FROM queen.dead_letters WHERE queue = 'select' \gset
SELECT dead_letter_id IN (:lowest, :highest) AS known, source, target, redriven, why_not FROM queen.redrive_ids(array[9223372036854775807, :highest, :lowest, :highest, -1], 'shop.copy');
SELECT count(*) FROM queen.redrive_ids('{}');
SELECT arguments = jsonb_build_object('ids', array[-1, :lowest, :highest, 9223372036854775807], 'to_queue', 'shop.copy') AS kept, done, skipped FROM queen.dead_letter_history WHERE queue = 'select' ORDER BY log_id DESC LIMIT 1;
SELECT pg_temp.fails(command) FROM unnest(array['SELECT FROM queen.redrive_ids(NULL)', 'SELECT FROM queen.redrive_ids(array[1, NULL])', 'SELECT FROM queen.redrive_ids(array[array[1]])', 'SELECT FROM queen.redrive_ids(''{1}'', NULL)',
	'SELECT FROM queen.redrive_ids(''{1}'', dry_run => NULL)', 'SELECT FROM queen.redrive_ids(''{1}'', to_queue => E''\n'')',
	'SELECT FROM queen.redrive()', 'SELECT FROM queen.redrive(''a'', from_queue => ''b'')', 'SELECT FROM queen.redrive(''nowhere'')', 'SELECT FROM queen.redrive(from_queue => ''nowhere'')', 'SELECT FROM queen.redrive(NULL)', 'SELECT FROM queen.redrive(''shop'', NULL)', 'SELECT FROM queen.redrive(''shop'', filter => NULL)',
	'SELECT FROM queen.redrive(''shop'', to_queue => NULL)', 'SELECT FROM queen.redrive(''shop'', max => NULL)', 'SELECT FROM queen.redrive(''shop'', max => -1)', 'SELECT FROM queen.redrive(''shop'', dry_run => NULL)', 'SELECT FROM queen.redrive(''shop'', bypass => NULL)', 'SELECT FROM queen.redrive(''shop'', all_groups => NULL)',
	'SELECT FROM queen.redrive(from_queue => NULL)', 'SELECT FROM queen.redrive(from_queue => ''shop'', to_queue => ''shop'')', 'SELECT FROM queen.redrive(from_queue => ''shop'', consumer_group => ''g'')']) command;
-- An unknown target is never made, even where pushes make queues.
SET queen.auto_create_queue = on;
SELECT target, redriven, why_not FROM queen.redrive('select', to_queue => 'unmade', max => 1);
SELECT count(*) FROM queen.queues WHERE queue = 'unmade';
RESET queen.auto_create_queue;

--
-- A client library's dead letter queue: pending for the group redrive
--
SELECT queen.create_queue('dlq');
SELECT FROM queen.push_items('dlq', (SELECT json_agg(json_build_object('payload', body::json, 'partition', 'p') ORDER BY name) FROM fixture));
SELECT count(queen.push('dlq', body, 'p')) FROM (VALUES ('not json'::bytea), (''), ('\x00')) b (body);
SELECT FROM queen.push('dlq', '[1]', 'p');
SELECT FROM queen.push('dlq', (SELECT convert_to(body, 'UTF8') FROM fixture WHERE name = 'dead'), 'bytes', 'tx-9', '{"h": 1}');
SELECT FROM queen.push('dlq', '{"job":"j","meta":{"schema_version":1,"queue":"' || repeat('x', 256) || '"}}', 'q') a, queen.push('dlq', '{"job":"j","meta":{"schema_version":1,"queue":"dlq"}}', 'q') b, queen.push('dlq', '{"job":"j","meta":{"schema_version":1}}', 'q') c;
SELECT message_id, trace_id, urn, reason, source, source_offset, left(target, 12) AS target, redriven, why_not, partition FROM queen.redrive(from_queue => 'dlq', dry_run => true);
SELECT count(*) FROM queen.consumer_groups WHERE queue = 'dlq';
SELECT message_id, redriven, why_not, message_offset FROM queen.redrive(from_queue => 'dlq', filter => '$.reason == "failed" && $.failures == 3 && $.dead_at == "2026-01-01T00:01:00+00:00"', bypass => true);
SELECT message_id, target, redriven, why_not, partition, message_offset FROM queen.redrive(from_queue => 'dlq');
SELECT message_id, target, redriven, why_not FROM queen.redrive(from_queue => 'dlq', to_queue => 'shop.copy');
SELECT partition, n, body, headers, tx FROM pg_temp.popped('shop', 'g') WHERE headers ->> 'queen-first-queue' = 'dlq';
SELECT partition, n, CASE WHEN partition = 'bytes' THEN body ELSE left(body, 40) END AS body FROM pg_temp.popped('shop.copy', 'anyone') WHERE headers ->> 'queen-first-queue' = 'dlq';
SELECT partition, committed, acked, behind FROM queen.cursors WHERE queue = 'dlq' AND consumer_group = 'redrive' ORDER BY 1;
-- Pending messages may also be popped by hand as that group: what is leased is busy.
SELECT lease AS l, message_offset, left(payload::text, 20) AS payload, body FROM queen.pop('dlq', 'redrive', 1, 'p') \gset
SELECT partition, source_offset, why_not FROM queen.redrive(from_queue => 'dlq', to_queue => 'shop.copy');
SELECT queen.ack(:'l');
SELECT partition, source_offset, why_not FROM queen.redrive(from_queue => 'dlq', to_queue => 'shop.copy', max => 2);
-- What an expired lease held is taken over, and the lease is lost.
SELECT queen.create_queue('late');
SELECT FROM queen.push_batch('late', '[{"job":"j","meta":{"schema_version":1,"queue":"shop.copy"}}, 1]', 'p');
SELECT lease AS l FROM queen.pop('late', 'redrive', lease_time => '1 us') LIMIT 1 \gset
SELECT source_offset, redriven, why_not FROM queen.redrive(from_queue => 'late');
SELECT pg_temp.fails(format('SELECT queen.%s(%L)', verb, :'l')) LIKE 'QN001%' AS lost FROM unnest(array['ack', 'renew', 'nack']) verb;
-- What is meant for another group is passed, as by a pop.
SELECT FROM queen.push('late', '2', 'q');
SELECT pg_temp.bury('late', 'redrive');
SELECT pg_temp.bury('late', 'h');
SELECT count(*) FROM queen.redrive('late', 'h') WHERE redriven;
SELECT count(*) FROM queen.redrive(from_queue => 'late');
SELECT partition, behind FROM queen.cursors WHERE queue = 'late' AND consumer_group = 'redrive' ORDER BY 1;
SELECT queen.drop_queue('late', "cascade" => true);
-- A chunk goes over partitions: two do not lock the target as a whole.
SELECT queen.create_queue('two'), queen.create_queue('two.target');
SELECT FROM queen.push_items('two', (SELECT json_agg(json_build_object('partition', n, 'payload', json_build_object('job', 'j', 'n', n, 'meta', json_build_object('schema_version', 1, 'queue', 'two.target'))::json)) FROM unnest('{a,b,c}'::text[]) n));
BEGIN;
SELECT partition, redriven, message_offset FROM queen.redrive(from_queue => 'two');
SELECT objsubid, mode, count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid() AND objsubid IN (20738, 20740) GROUP BY 1, 2 ORDER BY 1, 2;
COMMIT;
SELECT partition, committed FROM queen.cursors WHERE queue = 'two' ORDER BY 1;
SELECT queen.drop_queue('two', "cascade" => true), queen.drop_queue('two.target', "cascade" => true);
-- An empty queue, and one without partitions.
SELECT queen.create_queue('empty');
SELECT count(*) FROM queen.redrive(from_queue => 'empty');
SELECT count(*) FROM queen.redrive('empty');
SELECT consumer_group, subscription_mode FROM queen.consumer_groups WHERE queue = 'empty';

--
-- More than a chunk: order is kept, rows come in order, and a failure in the middle leaves all as it was
--
SELECT queen.create_queue('many', retry_limit => 0);
SELECT FROM queen.push_items('many', (SELECT json_agg(json_build_object('payload', n, 'partition', 'p' || n % 7)) FROM generate_series(1, 2500) n));
SELECT pg_temp.bury('many');
SELECT count(*), count(*) FILTER (WHERE redriven), min(message_offset), max(message_offset), bool_and(dead_letter_id > before) AS ascending
  FROM (SELECT *, lag(dead_letter_id, 1, 0) OVER () AS before FROM queen.redrive('many')) r;
SELECT count(*), bool_and(in_order) FROM (SELECT payload::text::int > lag(payload::text::int, 1, 0) OVER (PARTITION BY partition ORDER BY message_offset) AS in_order FROM queen.pop('many', 'g', 5000, auto_ack => true)) p;
SELECT queen.seek('many', 'g', partition => p, by => -1000) IS NOT NULL AS sought FROM unnest(array['p0', 'p1', 'p2', 'p3', 'p4', 'p5', 'p6']) p;
SELECT pg_temp.bury('many');
SELECT count(*) AS letters FROM queen.dead_letters WHERE queue = 'many' \gset
SELECT count(*) AS segments FROM queen.segment \gset
SELECT queen.alter_queue('shop.copy', max_backlog => 700);
SELECT pg_temp.fails('SELECT FROM queen.redrive(''many'', to_queue => ''shop.copy'')') LIKE 'QN003%' AS refused;
SELECT count(*) = :letters AS letters FROM queen.dead_letters WHERE queue = 'many';
SELECT count(*) = :segments AS segments FROM queen.segment;
SELECT queen.alter_queue('shop.copy', max_backlog => NULL);
-- A rollback to a savepoint undoes a redrive wholly.
BEGIN;
SAVEPOINT s;
SELECT count(*) > 1000 AS many FROM queen.redrive('many') WHERE redriven;
ROLLBACK TO s;
SELECT count(*) = :letters AS letters FROM queen.dead_letters WHERE queue = 'many';
COMMIT;

--
-- In steps
--
CALL queen.redrive_in_steps('many', filter => '$.partition == "p1"', per_second => 1000000);
SELECT action, arguments, done, skipped FROM queen.dead_letter_history WHERE queue = 'many' ORDER BY log_id DESC LIMIT 1;
CALL queen.redrive_in_steps(from_queue => 'dlq', to_queue => 'shop.copy', per_second => 1000);
DO $$
DECLARE
	done bigint;
	passed bigint;
BEGIN
	CALL queen.redrive_in_steps('many', filter => '$.partition == "p2"', per_second => 100000, redriven => done, skipped => passed);
	RAISE NOTICE 'redriven %, skipped %', done, passed;
END $$;
SELECT action, arguments, done, skipped FROM queen.dead_letter_history WHERE queue = 'many' ORDER BY log_id DESC LIMIT 1;
SELECT pg_temp.fails(command) FROM unnest(array['CALL queen.redrive_in_steps(''many'')', 'SELECT queen.redrive_in_steps(''many'')']) command;
CALL queen.redrive_in_steps('many', per_second => 0);
CALL queen.redrive_in_steps('many', per_second => 'NaN');
CALL queen.redrive_in_steps('many', per_second => 'Infinity');
CALL queen.redrive_in_steps('many', per_second => NULL);
CALL queen.redrive_in_steps();
BEGIN;
CALL queen.redrive_in_steps('many');
ROLLBACK;
SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY;
CALL queen.redrive_in_steps('many');
SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE;

--
-- dead_letter_envelope
--
SELECT queen.create_queue('render');
SELECT count(queen.push('render', body)) FROM (SELECT body FROM fixture ORDER BY name) f;
SELECT FROM queen.push('render', '{"no": "envelope"}');
SELECT pg_temp.bury('render', 'g', 'poison', NULL);
SELECT regexp_replace(queen.dead_letter_envelope(dead_letter_id)::text, '("failed_at":)[0-9]{13}(,"original_queue":"render")', '\1T\2') FROM queen.dead_letters WHERE queue = 'render' ORDER BY dead_letter_id;
SELECT FROM queen.push('render', (SELECT body FROM fixture WHERE name = 'plain'));
SELECT pg_temp.bury('render', 'g', 'my own', E'a "quoted" \\ line\nand another');
SELECT regexp_replace(queen.dead_letter_envelope(max(dead_letter_id))::text, '"failed_at":[0-9]{13}', '"failed_at":T') FROM queen.dead_letters WHERE queue = 'render';
SELECT (queen.dead_letter_envelope(dead_letter_id) -> 'dead_letter' ->> 'failed_at')::numeric = trunc(extract(epoch FROM dead_at) * 1000) AS failed_at FROM queen.dead_letters WHERE queue = 'render' AND reason = 'my own';
SELECT pg_temp.fails('SELECT queen.dead_letter_envelope(NULL)'), pg_temp.fails('SELECT queen.dead_letter_envelope(-1)');

--
-- purge_dead_letters
--
SELECT reason, error, dead_letters FROM queen.dead_letter_summary WHERE queue = 'render' ORDER BY 1, 2;
SELECT pg_temp.fails(command) FROM unnest(array['SELECT queen.purge_dead_letters(''render'')', 'SELECT queen.purge_dead_letters(''render'', dry_run => true)', 'SELECT queen.purge_dead_letters(''render'', older_than => ''-1 us'')', 'SELECT queen.purge_dead_letters(NULL)', 'SELECT queen.purge_dead_letters(''render'', NULL)',
	'SELECT queen.purge_dead_letters(''render'', older_than => NULL)', 'SELECT queen.purge_dead_letters(''render'', dry_run => NULL)', 'SELECT queen.purge_dead_letters(''render'', "all" => NULL)', 'SELECT queen.purge_dead_letters(''nowhere'', "all" => true)']) command;
SELECT queen.purge_dead_letters('render', older_than => '1 hour'), queen.purge_dead_letters('render', older_than => '178000000 years');
SELECT queen.purge_dead_letters('render', '$.reason == "my own"', dry_run => true), queen.purge_dead_letters('render', '$.reason == "my own"'), queen.purge_dead_letters('render', '$.reason == "my own"');
UPDATE queen.dead_letter SET dead_at = dead_at - interval '1 day' WHERE dead_letter_id = (SELECT min(dead_letter_id) FROM queen.dead_letters WHERE queue = 'render');
SELECT queen.purge_dead_letters('render', older_than => '1 hour', "all" => true);
SELECT queen.purge_dead_letters('render', "all" => true), queen.purge_dead_letters('render', "all" => true);
SELECT action, arguments, done, skipped FROM queen.dead_letter_history WHERE queue = 'render' ORDER BY log_id;

--
-- Rights: the source must be the caller's, and the target too
--
SET client_min_messages = warning;
CREATE ROLE queen_operator;
GRANT CREATE ON SCHEMA queen TO queen_operator;
RESET client_min_messages;
SELECT min(dead_letter_id) AS foreign FROM queen.dead_letters WHERE queue = 'select' \gset
SET ROLE queen_operator;
SELECT queen.create_queue('mine'), queen.create_queue('mine.dlq');
SELECT FROM queen.push('mine', '1', 'p');
SELECT pg_temp.bury('mine');
SELECT pg_temp.fails(command) FROM unnest(array['SELECT FROM queen.redrive(''shop'')', 'SELECT FROM queen.redrive(''shop'', dry_run => true)', 'SELECT FROM queen.redrive(''mine'', to_queue => ''shop'')', 'SELECT FROM queen.redrive(from_queue => ''dlq'')', 'SELECT queen.purge_dead_letters(''shop'', "all" => true)', 'SELECT queen.redrive_summary(''shop'')']) command;
SELECT pg_temp.fails('SELECT queen.dead_letter_envelope(' || :foreign || ')') LIKE '42704%' AS hidden;
SELECT source, target, redriven, why_not FROM queen.redrive_ids(array[:foreign]);
SELECT FROM queen.push('mine.dlq', '{"job":"j","meta":{"schema_version":1,"queue":"shop"}}', 'p') a, queen.push('mine.dlq', '{"job":"j","meta":{"schema_version":1,"queue":"mine"}}', 'p') b;
SELECT target, redriven, why_not FROM queen.redrive(from_queue => 'mine.dlq');
SELECT redriven FROM queen.redrive('mine');
SELECT count(*) FROM queen.dead_letters WHERE queue NOT LIKE 'mine%';
SELECT DISTINCT queue FROM queen.dead_letter_history ORDER BY 1;
RESET ROLE;
\set QUIET on
SET client_min_messages = warning;
SELECT queen.drop_queue(queue, "cascade" => true) FROM unnest(array['shop', 'shop.copy', 'multi', 'select', 'dlq', 'empty', 'many', 'render', 'mine', 'mine.dlq']) queue \g /dev/null
REVOKE CREATE ON SCHEMA queen FROM queen_operator;
DROP ROLE queen_operator;
SELECT count(*) AS left_over FROM queen.dead_letter_log;
