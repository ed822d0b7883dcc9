-- install: what the extension is made of, and that it goes without a trace.
\set QUIET on
SET client_min_messages = warning;
DROP EXTENSION IF EXISTS queen;
-- How many rows each system catalog has: what is left behind in any of them shows.
CREATE FUNCTION pg_temp.catalogs() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	name text;
	n bigint;
	answer text := '';
BEGIN
	FOR name IN SELECT relname FROM pg_class WHERE relnamespace = 'pg_catalog'::regnamespace AND relkind = 'r' AND relname NOT LIKE 'pg_statistic%' ORDER BY 1 LOOP
		EXECUTE format('SELECT count(*) FROM pg_catalog.%I', name) INTO n;
		answer := answer || name || ' ' || n || '; ';
	END LOOP;
	RETURN answer;
END $$;
-- Most verbs, once each.
CREATE FUNCTION pg_temp.round() RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM queen.create_queue('q'), queen.create_queue('copy');
	RETURN QUERY SELECT 'push ' || message_offset FROM queen.push('q', '0', 'p');
	RETURN QUERY SELECT 'push ' || message_offset FROM queen.push('q', '1', 'p');
	RETURN QUERY SELECT 'push_batch ' || first_offset || ', ' || messages FROM queen.push_batch('q', '[2, 3]', 'p');
	RETURN QUERY SELECT 'push_items ' || item || ' ' || partition || ' ' || message_offset FROM queen.push_items('q', '[{"payload": 4, "partition": "p"}, {"payload": 0, "partition": "other"}]');
	RETURN QUERY SELECT 'push_deferred ' || queen.push_deferred('q', '6', 'deferred');
	RETURN QUERY SELECT 'ack ' || message_offset || ' ' || payload || ' ' || queen.ack(lease) FROM queen.pop('q', batch => 1, partition => 'p');
	RETURN QUERY SELECT 'nack ' || message_offset || ' ' || payload || ' ' || queen.nack(lease, delay => '0') FROM queen.pop('q', batch => 1, partition => 'p');
	RETURN QUERY SELECT 'reject ' || message_offset || ' ' || delivery || ' ' || queen.reject(lease) FROM queen.pop('q', batch => 1, partition => 'p');
	RETURN QUERY SELECT 'release ' || message_offset || ' ' || delivery || ' ' || queen.release(lease) FROM queen.pop('q', batch => 1, partition => 'p');
	RETURN QUERY SELECT 'seek ' || old_committed || ' ' || new_committed FROM queen.seek('q', 'default', partition => 'p', to_beginning => true);
	RETURN QUERY SELECT 'replay ' || queen.replay('q', 'p', 0, 4, 'copy');
	RETURN QUERY SELECT 'cursor ' || partition || ' ' || coalesce(committed::text, 'none') || ' ' || behind FROM queen.cursors WHERE queue = 'q' ORDER BY partition;
	RETURN QUERY SELECT 'dead letter ' || message_offset || ' ' || reason FROM queen.dead_letters;
	RETURN QUERY SELECT 'redrive ' || source_offset || ' ' || message_offset || ' ' || target FROM queen.redrive('q', filter => '$.reason == "rejected"');
	RETURN QUERY SELECT 'purge_dead_letters ' || queen.purge_dead_letters('q', "all" => true);
	RETURN QUERY SELECT 'purge ' || queen.purge('q');
END $$;
RESET client_min_messages;
SELECT pg_temp.catalogs() AS before \gset
\set QUIET off
CREATE EXTENSION queen;
-- Functions, views and types without a comment: none.
SELECT p.oid::regprocedure FROM pg_proc p WHERE pronamespace = 'queen'::regnamespace AND obj_description(p.oid, 'pg_proc') IS NULL ORDER BY 1;
SELECT c.oid::regclass FROM pg_class c WHERE relnamespace = 'queen'::regnamespace AND relkind = 'v' AND obj_description(c.oid, 'pg_class') IS NULL ORDER BY 1;
SELECT t.oid::regtype FROM pg_type t WHERE typnamespace = 'queen'::regnamespace AND typtype = 'b' AND typelem = 0 AND obj_description(t.oid, 'pg_type') IS NULL ORDER BY 1;
-- Tables and sequences that a dump would leave empty: none.
SELECT c.oid::regclass FROM pg_class c
 WHERE relnamespace = 'queen'::regnamespace AND relkind IN ('r', 'S')
   AND NOT c.oid = ANY ((SELECT extconfig FROM pg_extension WHERE extname = 'queen')::oid[]) ORDER BY 1;
-- A table that the planner takes for a large one, as none was ever analyzed: none.
SELECT oid::regclass FROM pg_class WHERE relnamespace = 'queen'::regnamespace AND relkind = 'r' AND reltuples < 0 ORDER BY 1;
-- Objects of the schema that are not the extension's: none.
SELECT c.oid::regclass FROM pg_class c
 WHERE relnamespace = 'queen'::regnamespace AND relkind IN ('r', 'S', 'v')
   AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e') ORDER BY 1;
SELECT p.oid::regprocedure FROM pg_proc p
 WHERE pronamespace = 'queen'::regnamespace
   AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e') ORDER BY 1;
-- No function runs as its owner; each pins its path, but for push and its kin, those of the type and procedures, which look nothing up, and SQL functions that were parsed when they were made.
CREATE TEMP VIEW of_type AS
SELECT typinput AS function FROM pg_type WHERE typnamespace = 'queen'::regnamespace AND typtype = 'b' AND typelem = 0
UNION SELECT typoutput FROM pg_type WHERE typnamespace = 'queen'::regnamespace AND typtype = 'b' AND typelem = 0
UNION SELECT castfunc FROM pg_cast;
SELECT p.oid::regprocedure FROM pg_proc p WHERE pronamespace = 'queen'::regnamespace AND prosecdef ORDER BY 1;
SELECT p.oid::regprocedure FROM pg_proc p
 WHERE pronamespace = 'queen'::regnamespace AND prokind = 'f' AND prosqlbody IS NULL AND p.oid NOT IN (SELECT function FROM of_type)
   AND (proconfig IS NULL OR NOT 'search_path=pg_catalog, pg_temp' = ANY (proconfig)) ORDER BY 1;
-- No function answers NULL to a NULL in silence, but for those of the type.
SELECT p.oid::regprocedure FROM pg_proc p WHERE pronamespace = 'queen'::regnamespace AND proisstrict AND p.oid NOT IN (SELECT function FROM of_type) ORDER BY 1;
DROP VIEW of_type;
-- What PUBLIC may do: read the views.
SELECT c.oid::regclass, a.privilege_type FROM pg_class c, aclexplode(c.relacl) a
 WHERE relnamespace = 'queen'::regnamespace AND a.grantee = 0 ORDER BY c.oid::regclass::text;
SELECT a.privilege_type FROM pg_namespace n, aclexplode(n.nspacl) a WHERE nspname = 'queen' AND a.grantee = 0 ORDER BY 1;
--
-- Create, drop, create in one session, with plans that live on
--
SELECT * FROM pg_temp.round();
PREPARE typed(text, json) AS SELECT message_offset FROM queen.push($1, $2, 'p');
EXECUTE typed('q', '5');
DROP EXTENSION queen;
-- Catalogs that are not as they were before: none.
SELECT b.entry AS before, a.entry AS after
  FROM unnest(string_to_array(:'before', '; ')) WITH ORDINALITY b (entry, n) FULL JOIN unnest(string_to_array(pg_temp.catalogs(), '; ')) WITH ORDINALITY a (entry, n) USING (n)
 WHERE b.entry IS DISTINCT FROM a.entry;
SELECT count(*) FROM pg_proc WHERE probin LIKE '%queen%';
CREATE EXTENSION queen;
-- The same again, with the plans and the names that this session remembers.
SELECT * FROM pg_temp.round();
EXECUTE typed('q', '5');
SELECT queen.drop_queue('q', true), queen.drop_queue('copy', true);
DEALLOCATE typed;
-- A schema of that name that is somebody else's is refused.
BEGIN;
DROP EXTENSION queen;
CREATE SCHEMA queen;
\set SHOW_CONTEXT never
CREATE EXTENSION queen;
ROLLBACK;
