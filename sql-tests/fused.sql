-- fused: what queen.push_fused refuses before it needs its worker; the rest is in t/.
\set QUIET on
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS queen;
-- The error of a statement, its SQLSTATE first. What it changed is undone.
CREATE FUNCTION pg_temp.fails(command text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	why text;
	hint text;
BEGIN
	EXECUTE command;
	RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS why = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	RETURN SQLSTATE || ': ' || left(SQLERRM, 100) || coalesce(' (' || nullif(why, '') || ')', '') || coalesce(' [' || nullif(hint, '') || ']', '');
END $$;
RESET client_min_messages;
\set QUIET off
SELECT queen.create_queue('fused');
-- What is wrong with the message, in the words of push.
SELECT pg_temp.fails($$SELECT queen.push_fused(NULL, '1')$$);
SELECT pg_temp.fails($$SELECT queen.push_fused('fused', NULL)$$);
SELECT pg_temp.fails($$SELECT queen.push_fused('', '1')$$);
SELECT pg_temp.fails($$SELECT queen.push_fused('fused', '{"a":')$$);
SELECT pg_temp.fails($$SELECT queen.push_fused('fused', '1', '')$$);
SELECT pg_temp.fails($$SELECT queen.push_fused('fused', '1', E'a\tb')$$);
SELECT pg_temp.fails($$SELECT queen.push_fused('fused', '1', repeat('x', 256))$$);
SELECT pg_temp.fails($$SELECT queen.push_fused('fused', '1', 'p', '')$$);
SELECT pg_temp.fails($$SELECT queen.push_fused('fused', '1', 'p', repeat('x', 1025))$$);
SELECT pg_temp.fails($$SELECT queen.push_fused('fused', '1', 'p', headers => '[1]')$$);
SELECT pg_temp.fails($$SELECT queen.push_fused('fused', '1', 'p', headers => jsonb_build_object('h', repeat('x', 65528)))$$);
SET queen.max_message_bytes = '1kB';
SELECT pg_temp.fails($$SELECT queen.push_fused('fused', to_jsonb(repeat('x', 1023)), 'p')$$);
RESET queen.max_message_bytes;
BEGIN READ ONLY;
SELECT pg_temp.fails($$SELECT queen.push_fused('fused', '1', 'p')$$);
ROLLBACK;
-- Nothing of all this was appended or made.
SELECT count(*) FROM queen.partitions WHERE queue = 'fused';
SHOW queen.fusion_idle;
SELECT pg_temp.fails($$SET queen.fusion_idle = '1s'$$);
SELECT queen.drop_queue('fused');
