-- hostile: every function with NULLs, odd values and odd sessions; each call answers or is refused by its own SQLSTATE.
\set QUIET on
\pset format unaligned
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS queen;
-- Good arguments of every function, as SQL. A call is made with one of them replaced.
CREATE ROLE queen_owner;
CREATE ROLE queen_stranger;
CREATE ROLE queen_pusher;
CREATE ROLE queen_popper;
CREATE ROLE queen_reader;
CREATE ROLE queen_admin;
CREATE ROLE queen_operator;
CREATE TEMP TABLE sample (function text, argument text, value text);
INSERT INTO sample (function, argument, value)
SELECT s.function, split_part(a.pair, '=', 1), split_part(a.pair, '=', 2) FROM (VALUES
	('create_queue', 'name=''fresh'';partitions=1;lease=''1 s'';retry_limit=1;retry_delay=''0'';max_deliveries=1;on_exhausted=''drop'';max_backlog=1;retention=''1 h'';completed_retention=''1 h'';retention_bytes=1;retention_messages=1;drop_idle_partitions=''1 h'';dedup_window=''1 h'';delivery_delay=''0'''),
	('alter_queue', 'name=''odd'';partitions=1;lease=''1 h'';retry_limit=1;retry_delay=''0'';max_deliveries=1;on_exhausted=''drop'';max_backlog=1000;retention=''1 h'';completed_retention=''1 h'';retention_bytes=1;retention_messages=1;drop_idle_partitions=''1 h'';dedup_window=''1 h'';delivery_delay=''0'''),
	('reset_queue_option', 'name=''odd'';option=''lease'''),
	('pause_queue', 'name=''odd'''), ('resume_queue', 'name=''odd'''), ('purge', 'queue=''odd'''),
	('drop_queue', 'name=''odd'';cascade=true'),
	('push', 'queue=''odd'';payload=''1'';partition=''p'';transaction_id=''t'';headers=''{}'';delay=''0'''),
	('push_batch', 'queue=''odd'';payloads=''[1]'';partition=''p'''),
	('push_items', 'queue=''odd'';items=''[{"payload": 1}]'''),
	('push_deferred', 'queue=''odd'';payload=''1'';partition=''p'';transaction_id=''t'';headers=''{}'''),
	('cancel_scheduled', 'scheduled_id=WAITING'), ('reschedule', 'scheduled_id=WAITING;delay=''1 h'';deliver_at=NULL'),
	('deliver_scheduled', 'queue=''odd'';max_messages=1'), ('purge_dedup', 'queue=''odd'';max_partitions=1'),
	('pop', 'queue=''odd'';consumer_group=''g'';batch=1;partition=''p'';lease_time=''1 h'';auto_ack=false;subscription_mode=''all'';subscription_from=NULL;max_partitions=1;max_bytes=1;ack=''{}'';strict_ack=false;wait=NULL'),
	('subscribe', 'queue=''odd'';consumer_group=''new'';subscription_mode=''all'';subscription_from=NULL'),
	('unsubscribe', 'queue=''odd'';consumer_group=''g'''),
	('ack', 'lease=LEASE;through=0'), ('ack_messages', 'lease=LEASE;offsets=''{0}'''), ('ack_leases', 'leases=array[LEASE]'),
	('nack', 'lease=LEASE;at_offset=0;error=''e'';delay=''0'';complete_before=false'),
	('reject', 'lease=LEASE;at_offset=0;reason=''r'';error=''e'';complete_before=false'),
	('release', 'lease=LEASE'), ('renew', 'lease=LEASE;lease_time=''1 h'''),
	('seek', 'queue=''odd'';consumer_group=''g'';to_timestamp=''-infinity'';to_end=false;to_beginning=true;partition=''p'';to_offset=''-9223372036854775808'';by=''-9223372036854775808'';dry_run=false'),
	('seek_undo', 'seek_id=SEEK;force=false'),
	('replay', 'queue=''odd'';partition=''p'';from_offset=0;to_offset=0;to_queue=''other'''),
	('grant', 'queue=''odd'';role=''queen_pusher'';privileges=''{push}'''), ('revoke', 'queue=''odd'';role=''queen_pusher'';privileges=''{pop}'''),
	('set_owner', 'queue=''odd'';role=''queen_owner'''), ('has_privilege', 'role=''queen_pusher'';queue=''odd'';privilege=''push'''),
	('read', 'queue=''odd'';partition=''p'';from_offset=0;max=10'),
	('redrive', 'queue=''odd'';consumer_group=''g'';filter=''$'';to_queue=''other'';max=1;dry_run=false;bypass=false;all_groups=false;from_queue='''''),
	('redrive_ids', 'ids=array[DEAD];to_queue=''other'';dry_run=false;bypass=false;all_groups=false'),
	('redrive_summary', 'queue=''odd'';consumer_group=''g'';filter=''$'';to_queue=''other'';max=1;dry_run=false;bypass=false;all_groups=false;from_queue='''''),
	('purge_dead_letters', 'queue=''odd'';filter=''$'';older_than=''0'';dry_run=false;all=true'), ('dead_letter_envelope', 'dead_letter_id=DEAD'),
	('reset_envelope', 'body=''{}'''), ('is_replay', 'headers=''{}'''),
	('retain', 'queue=''odd'';dry_run=false'),
	('_counters', 'queue_id=1;group_id=0'), ('reset_stats', 'queue=''odd'''),
	('push_fused', 'queue=''fused'';payload=''1'';partition=''p'';transaction_id=''t'';headers=''{}'''),
	('wait', 'queue=''odd'';consumer_group=''g'';timeout=''0'';ready=NULL'),
	('redrive_in_steps', 'queue=''odd'';consumer_group=''g'';filter=''false'';to_queue=''other'';per_second=1000;bypass=false;all_groups=false;from_queue='''';redriven=0;skipped=0'),
	('_start_offset', 'partition_id=1;group_id=1')) s (function, list), unnest(string_to_array(s.list, ';')) a (pair);
CREATE TEMP TABLE argument AS
SELECT p.proname::text AS function, a.name AS argument, a.type::regtype AS type
  FROM pg_proc p, unnest(p.proargnames[1:p.pronargs], p.proargtypes::oid[]) a (name, type)
 WHERE p.pronamespace = 'queen'::regnamespace AND p.prokind IN ('f', 'p') AND p.proname NOT LIKE 'payload%';
-- These commit, or are committed by somebody else: they are called one by one, further below.
CREATE TEMP TABLE apart AS
SELECT a.*, p.prokind FROM argument a JOIN pg_proc p ON p.pronamespace = 'queen'::regnamespace AND p.proname = a.function
 WHERE p.prokind = 'p' OR a.function IN ('push_fused', 'reset_stats');
SELECT queen.create_queue('odd') \g /dev/null
SELECT queen.create_queue('other') \g /dev/null
SELECT queen.create_queue('fused') \g /dev/null
SELECT queen.push_batch('odd', '[0, 1, 2]', 'p') \g /dev/null
SELECT lease FROM queen.pop('odd', 'g', 3, lease_time => '1 h') LIMIT 1 \gset
SELECT seek_id FROM queen.seek('odd', 'sought', to_end => true) \gset
SELECT FROM queen.push('odd', '1', 'dead');
SELECT queen.reject(lease) FROM queen.pop('odd', 'g', 1, 'dead', lease_time => '1 h') \g /dev/null
SELECT max(dead_letter_id) AS dead FROM queen.dead_letters WHERE queue = 'odd' \gset
UPDATE sample SET value = :'seek_id' WHERE value = 'SEEK';
UPDATE sample SET value = replace(value, 'DEAD', :'dead');
SELECT scheduled_id FROM queen.push('odd', '1', 'waits', 'waits', delay => '1 day') \gset
UPDATE sample SET value = :'scheduled_id' WHERE value = 'WAITING';
UPDATE sample SET value = replace(value, 'LEASE', format('%L::uuid', :'lease'));
-- How many rows each table has.
CREATE FUNCTION pg_temp.rows() RETURNS text LANGUAGE sql AS $$
	SELECT (SELECT count(*) FROM queen.queue) || ' ' || (SELECT count(*) FROM queen.partition) || ' ' || (SELECT count(*) FROM queen.segment) || ' ' ||
		   (SELECT count(*) FROM queen.consumer_group) || ' ' || (SELECT count(*) FROM queen.cursor) || ' ' || (SELECT count(*) FROM queen.dead_letter) || ' ' ||
		   (SELECT count(*) FROM queen.seek_log) || ' ' || (SELECT count(*) FROM queen.seek_move) || ' ' || (SELECT count(*) FROM queen.dead_letter_log) || ' ' ||
		   (SELECT count(*) FROM queen.scheduled) || ' ' || (SELECT count(*) FROM queen.dedup) || ' ' || (SELECT count(*) FROM queen.dedup_run) || ' ' || (SELECT count(*) FROM queen.dedup_due)
$$;
-- The SQLSTATE of a call with one argument replaced; all of it is undone. 'done' where it was taken.
CREATE FUNCTION pg_temp.attempt(f text, a text, instead text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	command text;
	answer text;
	before text := pg_temp.rows();
BEGIN
	SELECT format('SELECT queen.%I(%s)', f, string_agg(format('%I => %s', s.argument, CASE WHEN s.argument = a THEN instead ELSE s.value END), ', '))
	  INTO command FROM sample s WHERE s.function = f;
	BEGIN
		EXECUTE command;
		RAISE EXCEPTION USING ERRCODE = 'UNDO0', MESSAGE = 'done';
	EXCEPTION WHEN OTHERS THEN
		answer := CASE SQLSTATE WHEN 'UNDO0' THEN 'done' ELSE SQLSTATE END;
	END;
	IF answer LIKE 'XX%' OR before <> pg_temp.rows() THEN
		RAISE EXCEPTION '%: %', left(command, 200), answer;
	END IF;
	RETURN answer;
END $$;
RESET client_min_messages;
\set QUIET off
-- A function or argument without a sample, or a sample without: none.
SELECT function, argument FROM argument EXCEPT SELECT function, argument FROM sample ORDER BY 1, 2;
SELECT function, argument FROM sample EXCEPT SELECT function, argument FROM argument;
\set QUIET on
DELETE FROM argument WHERE function IN (SELECT function FROM apart);
\set QUIET off
-- Each sample call is good.
SELECT function, pg_temp.attempt(function, '', '') FROM (SELECT DISTINCT function FROM argument) f ORDER BY 1;
-- NULL for each argument: refused with 22004, or a value.
SELECT a.function, string_agg(a.argument, ', ' ORDER BY a.argument) FILTER (WHERE r.answer = '22004') AS refused,
	   string_agg(a.argument, ', ' ORDER BY a.argument) FILTER (WHERE r.answer = 'done') AS taken,
	   string_agg(a.argument || ' ' || r.answer, ', ' ORDER BY a.argument) FILTER (WHERE r.answer NOT IN ('22004', 'done')) AS other
  FROM argument a, LATERAL (SELECT pg_temp.attempt(a.function, a.argument, 'NULL') AS answer) r GROUP BY 1 ORDER BY 1;
-- From 17 on an interval can be infinite.
CREATE FUNCTION pg_temp.infinite() RETURNS interval LANGUAGE sql AS $$
	SELECT CASE WHEN current_setting('server_version_num')::int >= 170000 THEN 'infinity' ELSE '178000000 years' END::interval
$$;
-- Odd values of each type, and every SQLSTATE that they were answered with.
CREATE TEMP TABLE odd (type regtype, what text, value text);
INSERT INTO odd VALUES
	('text[]', 'with NULL', '''{push,NULL}'''), ('text[]', 'two dimensions', '''{{push}}'''), ('text[]', 'empty', '''{}'''), ('text[]', 'the same twice', '''{push,push}'''), ('text[]', 'unknown', '''{PUSH}'''), ('text', 'empty', ''''''), ('text', '1 MB', 'repeat(''x'', 1000000)'), ('text', '255 bytes', 'repeat(''x'', 255)'), ('text', '256 bytes', 'repeat(''x'', 256)'), ('text', '1,024 bytes', 'repeat(''x'', 1024)'), ('text', '1,025 bytes', 'repeat(''x'', 1025)'), ('text', 'control', 'E''a\x01b'''), ('text', 'not ASCII', '''ä日😀"''''\'''),
	('int4', 'lowest', '''-2147483648'''), ('int4', 'highest', '2147483647'), ('int4', 'zero', '0'), ('int4', 'negative', '-1'),
	('int8', 'lowest', '''-9223372036854775808'''), ('int8', 'highest', '9223372036854775807'), ('int8', 'zero', '0'), ('int8', 'negative', '-1'),
	('interval', 'negative', '''-1 us'''), ('interval', 'zero', '''0'''), ('interval', 'longest', '''178000000 years'''), ('interval', 'most negative', '''-178000000 years -1 day'''),
	('timestamptz', 'infinity', '''infinity'''), ('timestamptz', '-infinity', '''-infinity'''), ('timestamptz', 'BC', '''4713-01-01 BC'''), ('timestamptz', 'last', '''294276-12-31'''),
	('uuid', 'zero', '''00000000-0000-0000-0000-000000000000'''), ('uuid', 'ones', '''ffffffff-ffff-ffff-ffff-ffffffffffff'''),
	('uuid', 'other nonce', format('overlay(%L placing ''000000000000'' from 25)::uuid', :'lease')), ('uuid', 'other group', format('overlay(%L placing ''ffff-ffff'' from 15)::uuid', :'lease')),
	('uuid[]', 'with NULL', format('array[%L, NULL]::uuid[]', :'lease')), ('uuid[]', 'two dimensions', format('array[array[%L]]::uuid[]', :'lease')), ('uuid[]', 'empty', '''{}'''), ('uuid[]', 'from 5', format('''[5:5]={%s}''', :'lease')),
	('uuid[]', 'the same twice', format('array[%1$L, %1$L]::uuid[]', :'lease')), ('uuid[]', '10,000 zeros', 'array_fill(''00000000-0000-0000-0000-000000000000''::uuid, array[10000])'),
	('int8[]', 'with NULL', '''{0,NULL}'''), ('int8[]', 'two dimensions', '''{{0},{1}}'''), ('int8[]', 'empty', '''{}'''), ('int8[]', 'from 5', '''[5:5]={0}'''), ('int8[]', 'the same twice', '''{0,0}'''), ('int8[]', 'extremes', '''{-9223372036854775808,9223372036854775807}'''),
	('int8[]', '1,000,000 times 0', 'array_fill(0::bigint, array[1000000])'),
	('queen.payload', 'empty', ''''''), ('queen.payload', 'no JSON', '''{'''), ('queen.payload', 'bytes', '''\x00''::bytea'), ('queen.payload', 'deep', 'repeat(''['', 100000) || repeat('']'', 100000)'),
	('queen.payload', 'not UTF-8', '''\xff80''::bytea'), ('queen.payload', 'lone surrogate', '''["\ud800"]'''), ('queen.payload', '10,000 levels', 'repeat(''['', 10000) || repeat('']'', 10000)'),  ('queen.payload', 'object', '''{"a": 1}'''), ('queen.payload', 'array of null', '''[null]'''),
	('jsonb', 'array', '''[]'''), ('jsonb', 'string', '''"x"'''), ('jsonb', 'number', '''1'''), ('json', 'array', '''[]'''), ('json', 'zero byte', '''{"job": "\u0000", "meta": {"schema_version": 1}}'''), ('json', 'deep', '(repeat(''['', 3000) || repeat('']'', 3000))::json'), ('jsonb', 'lone surrogate', '''{"a": "\udc00"}'''), ('jsonb', '1 MB', 'jsonb_build_object(''a'', repeat(''x'', 1000000))'),
	('double precision', 'NaN', '''NaN'''), ('double precision', 'infinity', '''infinity'''), ('double precision', '-infinity', '''-infinity'''), ('double precision', 'zero', '0'),
	('double precision', 'largest', '1.7976931348623157e308'), ('double precision', 'smallest', '5e-324'), ('double precision', 'negative', '-1'),
	('uuid[]', '1,000,000 zeros', 'array_fill(''00000000-0000-0000-0000-000000000000''::uuid, array[1000000])'), ('text[]', '1,000,000 times', 'array_fill(''push''::text, array[1000000])'),
	('interval', 'infinite or longest', 'pg_temp.infinite()'), ('interval', 'months and days', '''2147483647 days'''),
	('jsonpath', 'division', '''1 / 0'''), ('jsonpath', 'overflow', '''1e308 * 1e308'''), ('jsonpath', 'nothing', '''$.nothing'''), ('jsonpath', 'strict', '''strict $.nothing.at.all'''), ('jsonpath', 'variable', '''$x'''), ('jsonpath', 'false', '''false'''), ('boolean', 'true', 'true'), ('boolean', 'false', 'false');
SELECT DISTINCT type FROM (SELECT type FROM argument UNION ALL SELECT type FROM apart) a EXCEPT SELECT type FROM odd;
SET client_min_messages = error;
SELECT o.type, o.what, r.answer, string_agg(a.function || '.' || a.argument, ', ' ORDER BY a.function, a.argument) AS arguments
  FROM odd o JOIN argument a USING (type), LATERAL (SELECT pg_temp.attempt(a.function, a.argument, o.value) AS answer) r
 GROUP BY o.type, o.what, r.answer ORDER BY o.type::text COLLATE "C", o.what COLLATE "C", r.answer COLLATE "C";
-- 200 MB, more than a message may have.
SELECT pg_temp.attempt('push', 'payload', 'repeat(''x'', 200000000)::bytea'), pg_temp.attempt('push', 'payload', 'to_json(repeat(''x'', 200000000))');
RESET client_min_messages;
-- Those that commit: nothing of what they are given is taken, or it does nothing. Fused pushes that are taken stay.
\set VERBOSITY sqlstate
\pset tuples_only on
CREATE FUNCTION pg_temp.command(f text, a text, instead text) RETURNS text LANGUAGE sql AS $$
	SELECT format(CASE (SELECT max(prokind) FROM apart WHERE function = f) WHEN 'p' THEN 'CALL queen.%I(%s)' ELSE 'SELECT FROM queen.%I(%s)' END, f,
				  string_agg(format('%I => %s', s.argument, CASE WHEN s.argument = a THEN instead ELSE s.value END), ', ')) FROM sample s WHERE s.function = f
$$;
SELECT pg_temp.command(a.function, a.argument, 'NULL') FROM apart a WHERE a.argument NOT IN ('ready') ORDER BY a.function COLLATE "C", a.argument COLLATE "C" \gexec
SELECT pg_temp.command(a.function, a.argument, o.value) FROM apart a JOIN odd o USING (type) WHERE a.argument NOT IN ('ready', 'redriven', 'skipped') AND o.what <> 'overflow'
 ORDER BY a.function COLLATE "C", a.argument COLLATE "C", o.what COLLATE "C" \gexec
\pset tuples_only off
\set VERBOSITY default
-- The same where the other arguments do not stop it: a seek with one target, a pop that finds messages. Rows, or the SQLSTATE.
CREATE FUNCTION pg_temp.answers(command text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
	before text := pg_temp.rows();
BEGIN
	BEGIN
		EXECUTE format('SELECT count(*) || '' rows'' FROM queen.%s', command) INTO answer;
		RAISE EXCEPTION USING ERRCODE = 'UNDO0', MESSAGE = 'done';
	EXCEPTION WHEN OTHERS THEN
		answer := CASE SQLSTATE WHEN 'UNDO0' THEN answer ELSE SQLSTATE END;
	END;
	IF answer LIKE 'XX%' OR before <> pg_temp.rows() THEN
		RAISE EXCEPTION '%: %', left(command, 200), answer;
	END IF;
	RETURN answer;
END $$;
SET client_min_messages = error;
SELECT a.argument, o.what, pg_temp.answers(format('seek(''odd'', ''g'', partition => ''p'', %s => %s)', a.argument, o.value))
  FROM argument a JOIN odd o USING (type) WHERE a.function = 'seek' AND a.argument IN ('to_timestamp', 'to_offset', 'by') ORDER BY a.argument COLLATE "C", o.what COLLATE "C";
SELECT argument, pg_temp.answers(format('seek(''odd'', ''g'', partition => ''p'', %s)', argument))
  FROM unnest(array['to_offset => 3', 'to_offset => 4', 'by => ''-9223372036854775807''']) argument;
SELECT argument, pg_temp.answers(format('pop(''odd'', ''another'', %s)', format(argument, :'lease')))
  FROM unnest(array['batch => 1000000', 'max_partitions => 2147483647', 'max_bytes => 9223372036854775807', 'max_bytes => 1', 'lease_time => ''366 days''', 'lease_time => ''1 us''',
	'partition => ''nowhere''', 'subscription_mode => ''new''', 'subscription_mode => ''timestamp''', 'subscription_from => ''4713-01-01 BC''', 'subscription_from => ''294276-12-31''',
	'ack => ''{}''', 'ack => array[%L]::uuid[]', 'ack => array_fill(''00000000-0000-0000-0000-000000000000''::uuid, array[10000])',
	'ack => ''{00000000-0000-0000-0000-000000000000}'', strict_ack => true']) argument;
RESET client_min_messages;
-- Every function as a stranger, as the owner, and in a read-only transaction: none is forgotten.
CREATE FUNCTION pg_temp.as_role(role text, f text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	command text;
BEGIN
	SELECT format('SELECT queen.%I(%s)', f, string_agg(format('%I => %s', s.argument, s.value), ', ')) INTO command FROM sample s WHERE s.function = f;
	PERFORM set_config('role', role, true);
	EXECUTE command;
	RAISE EXCEPTION USING ERRCODE = 'UNDO0';
EXCEPTION WHEN OTHERS THEN
	RETURN CASE SQLSTATE WHEN 'UNDO0' THEN 'done' ELSE SQLSTATE END;
END $$;
CREATE TEMP TABLE every AS SELECT DISTINCT proname::text AS function FROM pg_proc
 WHERE pronamespace = 'queen'::regnamespace AND prokind = 'f' AND proname NOT LIKE 'payload%' AND prorettype <> 'trigger'::regtype;
BEGIN;
UPDATE queen.queue SET owner = 'queen_owner'::regrole WHERE name IN ('odd', 'other');
SELECT pg_temp.as_role('queen_stranger', function) AS stranger, string_agg(function, ', ' ORDER BY function) AS functions FROM every GROUP BY 1 ORDER BY 1;
SELECT queen.grant(queue, role, array[privilege]) FROM unnest(array['odd', 'other']) queue,
	(VALUES ('queen_pusher', 'push'), ('queen_popper', 'pop'), ('queen_reader', 'read'), ('queen_admin', 'admin'), ('queen_operator', 'admin'), ('queen_operator', 'push')) g (role, privilege) \g /dev/null
SELECT role, string_agg(function, ', ' ORDER BY function) AS may FROM every, unnest(array['queen_pusher', 'queen_popper', 'queen_reader', 'queen_admin', 'queen_operator']) WITH ORDINALITY r (role, n)
 WHERE pg_temp.as_role(role, function) <> '42501' GROUP BY role, n ORDER BY n;
SELECT pg_temp.as_role('queen_owner', function) AS owner, string_agg(function, ', ' ORDER BY function) AS functions FROM every GROUP BY 1 ORDER BY 1;
GRANT CREATE ON SCHEMA queen TO queen_owner;
SELECT pg_temp.as_role('queen_owner', 'create_queue');
ROLLBACK;
BEGIN READ ONLY;
SELECT pg_temp.as_role('none', function) AS read_only, string_agg(function, ', ' ORDER BY function) AS functions FROM every GROUP BY 1 ORDER BY 1;
SELECT count(*) FROM queen.seek('odd', 'g', to_beginning => true, dry_run => true);
ROLLBACK;
DROP ROLE queen_owner, queen_stranger, queen_pusher, queen_popper, queen_reader, queen_admin, queen_operator;
-- All of it was undone; the lease still is good.
SELECT queen.ack(:'lease');
--
-- Odd sessions: the same answers, and nothing of theirs is called
--
CREATE SCHEMA hostile;
-- Every binary operator of the types that queen uses, and functions of its, each better placed than pg_catalog's.
DO $$
DECLARE
	o record;
	types regtype[] := '{int2,int4,int8,numeric,text,bool,timestamptz,interval,uuid,bytea,jsonb,oid,int8range}';
BEGIN
	FOR o IN SELECT oprname, oprleft::regtype AS l, oprright::regtype AS r, oprresult::regtype AS result, row_number() OVER () AS n FROM pg_operator
			  WHERE oprnamespace = 'pg_catalog'::regnamespace AND oprkind = 'b' AND oprleft = ANY (types::oid[]) AND oprright = ANY (types::oid[]) LOOP
		EXECUTE format('CREATE FUNCTION hostile.steal%s(%s, %s) RETURNS %s LANGUAGE plpgsql AS ''BEGIN RAISE EXCEPTION $m$called$m$; END''', o.n, o.l, o.r, o.result);
		EXECUTE format('CREATE OPERATOR hostile.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = hostile.steal%s)', o.oprname, o.l, o.r, o.n);
	END LOOP;
END $$;
-- Every function of these types, pg_catalog's and queen's own, with the same arguments.
DO $$
DECLARE
	f record;
	types oid[] := '{int2,int4,int8,numeric,float8,text,name,bool,timestamptz,interval,uuid,uuid[],text[],int8[],bytea,json,jsonb,jsonpath,oid,regclass,regrole,int8range,int8multirange,queen.payload}'::regtype[];
BEGIN
	FOR f IN SELECT proname, proargtypes::oid[] AS arguments, prorettype::regtype AS result, proretset FROM pg_proc
			  WHERE pronamespace IN ('pg_catalog'::regnamespace, 'queen'::regnamespace) AND prokind = 'f' AND proargtypes::oid[] <@ types AND prorettype = ANY (types || 'void'::regtype::oid) LOOP
		EXECUTE format('CREATE OR REPLACE FUNCTION hostile.%I(%s) RETURNS %s %s LANGUAGE plpgsql AS ''BEGIN RAISE EXCEPTION $m$called$m$; END''',
					   f.proname, array_to_string(f.arguments::regtype[], ', '), CASE WHEN f.proretset THEN 'SETOF' END, f.result);
	END LOOP;
END $$;
SELECT count(*) > 500 AS many, bool_or(proname = 'clock_timestamp') AS clock, bool_or(proname = 'ack') AS ack FROM pg_proc WHERE pronamespace = 'hostile'::regnamespace;
CREATE FUNCTION hostile.unnest(int8multirange) RETURNS SETOF int8range LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION 'called'; END $$;
CREATE FUNCTION hostile.sum(bigint) RETURNS bigint LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION 'called'; END $$;
CREATE TABLE hostile.queue_grant (LIKE queen.queue_grant);
CREATE TABLE hostile.queue (LIKE queen.queue);
CREATE TABLE hostile.segment (LIKE queen.segment);
CREATE TEMP TABLE queue (LIKE queen.queue);
CREATE TEMP TABLE cursor (LIKE queen.cursor);
CREATE FUNCTION hostile.round() RETURNS TABLE (pushed bigint, popped text, acked bigint, behind bigint, redriven text) LANGUAGE plpgsql AS $$
DECLARE
	held uuid;
BEGIN
	pushed := (SELECT x.message_offset FROM queen.push('odd', '{"a": 1}', 'odd session', headers => '{"h": 1}') x);
	SELECT min(x.lease::text)::uuid, string_agg(concat_ws(' ', x.payload::text, x.headers::text, x.delivery::text), ',') INTO held, popped
	  FROM queen.pop('odd', 'odd', partition => 'odd session') x;
	acked := queen.ack(held);
	SELECT c.behind INTO behind FROM queen.cursors c WHERE c.queue OPERATOR(pg_catalog.=) 'odd' AND c.consumer_group OPERATOR(pg_catalog.=) 'odd' AND c.partition OPERATOR(pg_catalog.=) 'odd session';
	PERFORM FROM queen.push('odd', '2', 'odd dead');
	PERFORM queen.reject(x.lease) FROM queen.pop('odd', 'odd', partition => 'odd dead') x;
	redriven := (queen.redrive_summary('odd', 'odd', '$.payload == 2')::json OPERATOR(pg_catalog.->>) 'redriven');
	PERFORM queen.ack(x.lease) FROM queen.pop('odd', 'odd', partition => 'odd dead') x;
	RETURN NEXT;
END $$;
SELECT * FROM hostile.round();
SET search_path = hostile, pg_catalog, public;
-- They would be called.
DO $$BEGIN PERFORM 1::bigint = 1::bigint; EXCEPTION WHEN OTHERS THEN RAISE NOTICE '%', SQLERRM; END $$;
SELECT * FROM hostile.round();
SET search_path = pg_temp, hostile, pg_catalog;
SELECT * FROM hostile.round();
SET search_path = '';
SELECT * FROM hostile.round();
RESET search_path;
CREATE FUNCTION hostile.cast_it(bigint) RETURNS text LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION 'called'; END $$;
CREATE FUNCTION hostile.cast_it(timestamptz) RETURNS text LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION 'called'; END $$;
CREATE CAST (bigint AS text) WITH FUNCTION hostile.cast_it(bigint) AS IMPLICIT;
CREATE CAST (timestamptz AS text) WITH FUNCTION hostile.cast_it(timestamptz) AS IMPLICIT;
SELECT * FROM hostile.round();
DROP CAST (bigint AS text);
DROP CAST (timestamptz AS text);
SET default_transaction_read_only = on;
\set VERBOSITY sqlstate
SELECT * FROM hostile.round();
\set VERBOSITY default
BEGIN READ WRITE;
SELECT * FROM hostile.round();
COMMIT;
RESET ALL;
SET session_replication_role = replica;
SELECT * FROM hostile.round();
RESET session_replication_role;
SET transform_null_equals = on; SET quote_all_identifiers = on; SET array_nulls = off; SET jit_above_cost = 0; SET jit_inline_above_cost = 0;
SELECT * FROM hostile.round();
RESET ALL;
SET work_mem = '64kB'; SET max_stack_depth = '100kB'; SET check_function_bodies = off; SET default_toast_compression = 'pglz';
SELECT * FROM hostile.round();
RESET ALL;
SET plan_cache_mode = force_custom_plan; SET enable_indexscan = off; SET enable_nestloop = off; SET enable_seqscan = on; SET row_security = off;
SELECT * FROM hostile.round();
RESET ALL;
-- Row level security that a superuser has forced on the tables: for a role that is none.
CREATE ROLE queen_secured;
GRANT USAGE ON SCHEMA hostile TO queen_secured;
SELECT queen.grant('odd', 'queen_secured', '{push,pop,admin}');
DO $$
DECLARE
	t regclass;
BEGIN
	FOR t IN SELECT oid FROM pg_class WHERE relnamespace = 'queen'::regnamespace AND relkind = 'r' LOOP
		EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', t);
	END LOOP;
END $$;
SET ROLE queen_secured;
SELECT * FROM hostile.round();
RESET ROLE;
DO $$
DECLARE
	t regclass;
BEGIN
	FOR t IN SELECT oid FROM pg_class WHERE relnamespace = 'queen'::regnamespace AND relkind = 'r' LOOP
		EXECUTE format('ALTER TABLE %s DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY', t);
	END LOOP;
END $$;
SELECT queen.revoke('odd', 'queen_secured', '{push,pop,admin}');
REVOKE USAGE ON SCHEMA hostile FROM queen_secured;
DROP ROLE queen_secured;
SET DateStyle = 'SQL, DMY'; SET TimeZone = 'Asia/Kathmandu'; SET IntervalStyle = 'sql_standard'; SET bytea_output = 'escape'; SET extra_float_digits = -15;
SELECT * FROM hostile.round();
RESET ALL;
SET standard_conforming_strings = off; SET client_encoding = 'LATIN1'; SET backslash_quote = on;
SELECT * FROM hostile.round();
RESET ALL;
SET client_encoding = 'SQL_ASCII'; SET escape_string_warning = off;
SELECT * FROM hostile.round();
RESET ALL;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT * FROM hostile.round();
COMMIT;
SET default_transaction_isolation = serializable;
SELECT * FROM hostile.round();
RESET ALL;
-- The caller's settings are as he left them, after an answer and after an error.
SET enable_seqscan = on; SET enable_sort = off;
SELECT count(*) FROM queen.push('odd', '1', 'p');
SELECT pg_temp.attempt('push', 'queue', '''none''');
SELECT name, setting FROM pg_settings WHERE name IN ('enable_seqscan', 'enable_sort', 'enable_indexscan', 'enable_hashjoin', 'jit', 'plan_cache_mode') ORDER BY 1;
RESET ALL;
SET client_min_messages = warning;
DROP SCHEMA hostile CASCADE;
DROP TABLE pg_temp.queue, pg_temp.cursor;
SELECT queen.drop_queue('odd', true), queen.drop_queue('other'), queen.drop_queue('fused', true);
