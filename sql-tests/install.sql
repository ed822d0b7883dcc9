-- install: what the extension is made of, and that it goes without a trace.
\set QUIET on
SET client_min_messages = warning;
DROP EXTENSION IF EXISTS queen;
RESET client_min_messages;
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
-- Objects of the schema that are not the extension's: none.
SELECT c.oid::regclass FROM pg_class c
 WHERE relnamespace = 'queen'::regnamespace AND relkind IN ('r', 'S', 'v')
   AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e') ORDER BY 1;
-- No function runs as its owner; each pins its path, but for those of the type, which look nothing up.
SELECT p.oid::regprocedure FROM pg_proc p WHERE pronamespace = 'queen'::regnamespace AND prosecdef ORDER BY 1;
SELECT p.oid::regprocedure FROM pg_proc p
 WHERE pronamespace = 'queen'::regnamespace AND proname NOT LIKE 'payload%'
   AND (proconfig IS NULL OR NOT 'search_path=pg_catalog, pg_temp' = ANY (proconfig)) ORDER BY 1;
-- No function answers NULL to a NULL in silence, but for those of the type.
SELECT p.oid::regprocedure FROM pg_proc p WHERE pronamespace = 'queen'::regnamespace AND proisstrict AND proname NOT LIKE 'payload%' ORDER BY 1;
-- What PUBLIC may do: read the views.
SELECT c.oid::regclass, a.privilege_type FROM pg_class c, aclexplode(c.relacl) a
 WHERE relnamespace = 'queen'::regnamespace AND a.grantee = 0 ORDER BY c.oid::regclass::text;
SELECT a.privilege_type FROM pg_namespace n, aclexplode(n.nspacl) a WHERE nspname = 'queen' AND a.grantee = 0 ORDER BY 1;
--
-- Create, drop, create in one session, with plans that live on
--
SELECT queen.create_queue('q');
SELECT message_offset FROM queen.push('q', '1', 'p');
SELECT message_offset FROM queen.push('q', '2', 'p');
SELECT message_offset, payload, queen.ack(lease) FROM queen.pop('q', batch => 1);
DROP EXTENSION queen;
SELECT count(*) FROM pg_namespace WHERE nspname = 'queen';
SELECT count(*) FROM pg_type WHERE typname = 'payload';
SELECT count(*) FROM pg_proc WHERE probin LIKE '%queen%';
SELECT count(*) FROM pg_cast c JOIN pg_proc p ON p.oid = castfunc WHERE probin LIKE '%queen%';
CREATE EXTENSION queen;
SELECT queen.create_queue('q');
SELECT message_offset FROM queen.push('q', '"new"', 'p');
SELECT message_offset, payload, queen.ack(lease) FROM queen.pop('q', batch => 1);
SELECT queen.drop_queue('q', true);
-- A schema of that name that is somebody else's is refused.
BEGIN;
DROP EXTENSION queen;
CREATE SCHEMA queen;
CREATE EXTENSION queen;
ROLLBACK;
