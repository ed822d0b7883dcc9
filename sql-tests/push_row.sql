-- push_row: what the row trigger sends, where to, and what it refuses.
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
	RETURN SQLSTATE || ': ' || left(SQLERRM, 100) || coalesce(' (' || nullif(why, '') || ')', '');
END $$;
-- Messages of a queue not yet shown, the time of the change as X.
CREATE FUNCTION pg_temp.shown(queue text) RETURNS TABLE (partition text, message_offset bigint, message text) LANGUAGE sql AS $$
	SELECT p.partition, p.message_offset, regexp_replace(p.payload::text, '(?<="at":")[^"]+', 'X')
	  FROM queen.pop($1, 'shown', 100000, auto_ack => true) p ORDER BY p.partition COLLATE "C", p.message_offset
$$;
RESET client_min_messages;
\set QUIET off
SELECT queen.create_queue('orders');
CREATE TABLE purchase (id int PRIMARY KEY, customer_id int, gone text, total numeric, note text, tags text[], facts jsonb, made date, raw bytea, "odd ""Näme" boolean, double numeric GENERATED ALWAYS AS (total * 2) STORED);
ALTER TABLE purchase DROP COLUMN gone;
CREATE TRIGGER outbox AFTER INSERT OR UPDATE OR DELETE ON purchase FOR EACH ROW EXECUTE FUNCTION queen.push_row('orders', 'customer_id');
--
-- The message
--
INSERT INTO purchase VALUES (1, 7, 12.50, E'say "ä"\n', '{a,NULL,"b c"}', '{"k": [1, null]}', '2024-02-29', '\x00ff', true);
UPDATE purchase SET note = NULL WHERE id = 1;
DELETE FROM purchase;
SELECT * FROM pg_temp.shown('orders');
-- It is of the change's time, and JSON that goes back into a row; nothing but these keys.
SET TimeZone = 'Asia/Tokyo';
BEGIN;
SELECT clock_timestamp() AS before \gset
INSERT INTO purchase (id, customer_id, note) VALUES (2, 7, repeat('long ', 100000));
SELECT clock_timestamp() AS after \gset
COMMIT;
RESET TimeZone;
UPDATE purchase SET total = 1 WHERE id = 2;
SELECT partition, (payload ->> 'at')::timestamptz BETWEEN :'before' AND :'after' AS at_that_time, payload ->> 'at' LIKE '%+09:00' AS with_zone, (payload ->> 'table')::regclass, json_object_keys(payload)
  FROM queen.pop('orders', 'parts', batch => 1, partition => '7', subscription_from => :'before', auto_ack => true);
SELECT (json_populate_record(NULL::purchase, payload -> 'new')).total, (json_populate_record(NULL::purchase, payload -> 'old')).note = repeat('long ', 100000) AS old_note, (json_populate_record(NULL::purchase, payload -> 'new')).note = repeat('long ', 100000) AS new_note
  FROM queen.pop('orders', 'parts', partition => '7', auto_ack => true);
DELETE FROM purchase;
SELECT count(*) FROM pg_temp.shown('orders');
-- Names that want quotes.
CREATE SCHEMA "push Row";
CREATE TABLE "push Row"."T""ä" ("P k" text);
CREATE TRIGGER outbox AFTER INSERT ON "push Row"."T""ä" FOR EACH ROW EXECUTE FUNCTION queen.push_row('orders', 'P k');
INSERT INTO "push Row"."T""ä" VALUES ('ä日😀"');
SELECT * FROM pg_temp.shown('orders');
DROP SCHEMA "push Row" CASCADE;
--
-- The partition
--
CREATE TABLE keyed (k text, n int);
CREATE TRIGGER outbox AFTER INSERT OR UPDATE OR DELETE ON keyed FOR EACH ROW EXECUTE FUNCTION queen.push_row('orders', 'k');
-- NULL: one of the queue's own lanes. By an update the new value counts.
INSERT INTO keyed VALUES (NULL, 1), ('a', 2);
UPDATE keyed SET k = 'b' WHERE n = 2;
SELECT * FROM pg_temp.shown('orders');
-- What is no name refuses the change.
SELECT pg_temp.fails($$INSERT INTO keyed VALUES ('', 3)$$);
SELECT pg_temp.fails($$INSERT INTO keyed VALUES (repeat('x', 256), 3)$$);
SELECT pg_temp.fails($$UPDATE keyed SET k = E'a\tb'$$);
INSERT INTO keyed VALUES (repeat('x', 255), 4);
SELECT length(partition) FROM pg_temp.shown('orders');
SELECT n, length(k) FROM keyed ORDER BY n;
-- Without a column: the queue's own lanes.
CREATE TABLE plain (n int);
CREATE TRIGGER outbox AFTER INSERT ON plain FOR EACH ROW EXECUTE FUNCTION queen.push_row('orders');
INSERT INTO plain VALUES (1), (2);
SELECT * FROM pg_temp.shown('orders');
SELECT queen.alter_queue('orders', partitions => 2);
INSERT INTO plain VALUES (3), (4);
SELECT count(DISTINCT partition) FROM pg_temp.shown('orders');
-- Any type, as text.
CREATE TABLE typed (u uuid, d date, b boolean);
CREATE TRIGGER by_u AFTER INSERT ON typed FOR EACH ROW EXECUTE FUNCTION queen.push_row('orders', 'u');
CREATE TRIGGER by_d AFTER INSERT ON typed FOR EACH ROW EXECUTE FUNCTION queen.push_row('orders', 'd');
CREATE TRIGGER by_b AFTER INSERT ON typed FOR EACH ROW EXECUTE FUNCTION queen.push_row('orders', 'b');
INSERT INTO typed VALUES ('00000000-0000-0000-0000-00000000000a', '2024-01-02', true);
SELECT partition FROM pg_temp.shown('orders');
--
-- Two triggers, two queues; one segment a partition for all rows; savepoints
--
SELECT queen.create_queue('audit');
CREATE TRIGGER audit AFTER INSERT ON plain FOR EACH ROW WHEN (new.n % 2 = 0) EXECUTE FUNCTION queen.push_row('audit', 'n');
INSERT INTO plain VALUES (11), (12), (14);
SELECT partition, message FROM pg_temp.shown('audit');
SELECT count(*) FROM pg_temp.shown('orders');
TRUNCATE purchase;
BEGIN;
INSERT INTO purchase (id, customer_id) SELECT n, 100 + n % 3 FROM generate_series(1, 3000) n;
UPDATE purchase SET total = 1 WHERE id <= 30;
SAVEPOINT a;
DELETE FROM purchase;
ROLLBACK TO a;
DELETE FROM purchase WHERE id <= 3;
COMMIT;
SELECT p.partition, count(*) AS segments, sum(message_count) AS messages FROM queen.segment JOIN queen.partitions p USING (partition_id) WHERE p.partition ~ '^10\d$' GROUP BY 1 ORDER BY 1;
SELECT partition, payload ->> 'op' AS op, count(*), min(message_offset), max(message_offset) FROM queen.pop('orders', 'ops', 100000, partition => '101', auto_ack => true) GROUP BY 1, 2 ORDER BY 4;
BEGIN;
DELETE FROM purchase;
ROLLBACK;
INSERT INTO purchase (id, customer_id) VALUES (4, 9), (3001, 9) ON CONFLICT (id) DO UPDATE SET customer_id = excluded.customer_id;
INSERT INTO purchase (id, customer_id) VALUES (4, 9) ON CONFLICT DO NOTHING;
COPY purchase (id, customer_id) FROM stdin;
3002	9
\.
SELECT payload ->> 'op' AS op, payload -> 'new' ->> 'id' AS id FROM queen.pop('orders', 'ops', 100000, partition => '9', auto_ack => true);
SELECT count(*) > 0 AS some FROM pg_temp.shown('orders');
-- A statement that fails at its last row sends nothing.
SELECT pg_temp.fails($$INSERT INTO keyed SELECT CASE WHEN n < 100 THEN 'not sent' ELSE '' END, n FROM generate_series(1, 100) n$$);
SELECT count(*) FROM pg_temp.shown('orders');
-- A constraint trigger that fires at commit.
CREATE CONSTRAINT TRIGGER late AFTER INSERT ON keyed DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION queen.push_row('audit', 'k');
BEGIN;
INSERT INTO keyed VALUES ('late', 5);
SELECT queen.push_deferred('audit', '"before"', 'late');
COMMIT;
SELECT * FROM pg_temp.shown('audit');
-- Partitions of a table: the trigger is theirs, columns are found by name; a row that moves is a delete and an insert.
CREATE TABLE parted (k int, v text) PARTITION BY LIST (k);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1);
CREATE TABLE parted_2 (v text, k int);
ALTER TABLE parted ATTACH PARTITION parted_2 FOR VALUES IN (2);
CREATE TRIGGER outbox AFTER INSERT OR UPDATE OR DELETE ON parted FOR EACH ROW EXECUTE FUNCTION queen.push_row('audit', 'v');
INSERT INTO parted VALUES (1, 'one'), (2, 'two');
UPDATE parted SET k = 2 WHERE v = 'one';
SELECT * FROM pg_temp.shown('audit');
--
-- Refused
--
SELECT pg_temp.fails($$SELECT queen.push_row()$$);
CREATE TABLE refused (n int);
CREATE VIEW refused_view AS SELECT n FROM refused;
CREATE FUNCTION pg_temp.with_trigger(kind text, action text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
BEGIN
	EXECUTE 'CREATE TRIGGER t ' || kind;
	answer := pg_temp.fails(action);
	EXECUTE 'DROP TRIGGER t ON ' || CASE WHEN kind LIKE '%_view%' THEN 'refused_view' ELSE 'refused' END;
	RETURN answer;
END $$;
SELECT pg_temp.with_trigger(kind, action) FROM (VALUES
	('BEFORE INSERT ON refused FOR EACH ROW EXECUTE FUNCTION queen.push_row(''orders'')', 'INSERT INTO refused VALUES (1)'),
	('AFTER INSERT ON refused FOR EACH STATEMENT EXECUTE FUNCTION queen.push_row(''orders'')', 'INSERT INTO refused VALUES (1)'),
	('BEFORE INSERT ON refused FOR EACH STATEMENT EXECUTE FUNCTION queen.push_row(''orders'')', 'INSERT INTO refused VALUES (1)'),
	('AFTER TRUNCATE ON refused EXECUTE FUNCTION queen.push_row(''orders'')', 'TRUNCATE refused'),
	('INSTEAD OF INSERT ON refused_view FOR EACH ROW EXECUTE FUNCTION queen.push_row(''orders'')', 'INSERT INTO refused_view VALUES (1)'),
	('AFTER INSERT ON refused FOR EACH ROW EXECUTE FUNCTION queen.push_row()', 'INSERT INTO refused VALUES (1)'),
	('AFTER INSERT ON refused FOR EACH ROW EXECUTE FUNCTION queen.push_row(''orders'', ''n'', ''n'')', 'INSERT INTO refused VALUES (1)'),
	('AFTER INSERT ON refused FOR EACH ROW EXECUTE FUNCTION queen.push_row(''orders'', ''m'')', 'INSERT INTO refused VALUES (1)'),
	('AFTER INSERT ON refused FOR EACH ROW EXECUTE FUNCTION queen.push_row(''orders'', ''ctid'')', 'INSERT INTO refused VALUES (1)'),
	('AFTER INSERT ON refused FOR EACH ROW EXECUTE FUNCTION queen.push_row(''none'', ''n'')', 'INSERT INTO refused VALUES (1)'),
	('AFTER INSERT ON refused FOR EACH ROW EXECUTE FUNCTION queen.push_row('''', ''n'')', 'INSERT INTO refused VALUES (1)')) v (kind, action);
SELECT count(*) FROM refused;
-- Too large, and no right: the change is refused.
SET queen.max_message_bytes = '1kB';
SELECT pg_temp.fails($$INSERT INTO keyed VALUES ('k', 1), ('k', 2)$$), left(pg_temp.fails($$UPDATE purchase SET note = repeat('x', 1000) WHERE id = 4$$), 27) AS large;
RESET queen.max_message_bytes;
CREATE ROLE queen_row_writer;
GRANT ALL ON plain, keyed TO queen_row_writer;
SET ROLE queen_row_writer;
INSERT INTO plain VALUES (100);
RESET ROLE;
SELECT count(*) FROM plain WHERE n = 100;
-- The user who changes in the middle of a statement; from 18 on the server runs each trigger as the user who changed the row.
CREATE FUNCTION pg_temp.become() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF new.n = 2 THEN
		PERFORM set_config('role', 'queen_row_writer', true);
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER become AFTER INSERT ON keyed FOR EACH ROW EXECUTE FUNCTION pg_temp.become();
SELECT pg_temp.fails($$INSERT INTO keyed VALUES ('k', 1), ('k', 3)$$),
	   left(pg_temp.fails($$INSERT INTO keyed VALUES ('k', 1), ('k', 2)$$), 5) = CASE WHEN current_setting('server_version_num')::int < 180000 THEN '42501' ELSE 'no er' END AS as_who_changed;
REVOKE ALL ON plain, keyed FROM queen_row_writer;
DROP ROLE queen_row_writer;
DROP TABLE purchase, keyed, plain, typed, parted;
DROP VIEW refused_view;
DROP TABLE refused;
SELECT queen.drop_queue('orders', true), queen.drop_queue('audit', true);
