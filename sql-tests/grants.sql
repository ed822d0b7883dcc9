-- grants: owners, grants, membership, wrappers, views, and roles that go.
\set QUIET on
\pset format unaligned
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS queen;
CREATE FUNCTION pg_temp.fails(command text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE command;
	RETURN 'done';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ': ' || SQLERRM;
END $$;
-- The same as another role.
CREATE FUNCTION pg_temp.as_role(role text, command text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('role', role, true);
	EXECUTE command;
	RESET ROLE;
	RETURN 'done';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ': ' || SQLERRM;
END $$;
-- What a role may do with a queue, by has_privilege and by trying.
CREATE FUNCTION pg_temp.may(role text, queue text DEFAULT 'shop', OUT said text, OUT push text, OUT pop text, OUT read text, OUT admin text) LANGUAGE plpgsql AS $$
BEGIN
	SELECT string_agg(p, ' ' ORDER BY n) INTO said FROM unnest(array['push', 'pop', 'read', 'admin']) WITH ORDINALITY u (p, n) WHERE queen.has_privilege(role, queue, p);
	push := left(pg_temp.as_role(role, format('SELECT queen.push(%L, ''1'')', queue)), 5);
	pop := left(pg_temp.as_role(role, format('SELECT queen.pop(%L)', queue)), 5);
	read := left(pg_temp.as_role(role, format('SELECT queen.read(%L, ''Default'')', queue)), 5);
	admin := left(pg_temp.as_role(role, format('SELECT queen.alter_queue(%L, retry_limit => 3)', queue)), 5);
END $$;
CREATE ROLE queen_shop;
CREATE ROLE queen_app;
CREATE ROLE queen_clerk IN ROLE queen_app;
CREATE ROLE queen_apart NOINHERIT IN ROLE queen_app;
CREATE ROLE queen_other;
CREATE ROLE queen_super SUPERUSER;
GRANT CREATE ON SCHEMA queen TO queen_shop;
RESET client_min_messages;
\set QUIET off

--
-- The owner has all, others nothing, until it is granted
--
SET ROLE queen_shop;
SELECT queen.create_queue('shop');
RESET ROLE;
SELECT role, (pg_temp.may(role)).* FROM unnest(array['queen_shop', 'queen_app', 'queen_super']) role;
-- Who may grant: the owner, and whoever administers.
SELECT pg_temp.as_role('queen_app', 'SELECT queen.grant(''shop'', ''queen_app'', ''{push}'')'), pg_temp.as_role('queen_app', 'SELECT queen.revoke(''shop'', ''queen_app'', ''{push}'')');
SET ROLE queen_shop;
SELECT queen.grant('shop', 'queen_app', '{push}');
SELECT queen.grant('shop', 'queen_app', '{push}');
RESET ROLE;
SELECT (pg_temp.may('queen_app')).*;
SELECT queen.grant('shop', 'queen_app', array['pop']), queen.revoke('shop', 'queen_app', '{push}');
SELECT (pg_temp.may('queen_app')).*;
SELECT queen.revoke('shop', 'queen_app', '{all}'), queen.grant('shop', 'queen_app', '{read}');
SELECT (pg_temp.may('queen_app')).*;
SELECT queen.revoke('shop', 'queen_app', '{all}'), queen.grant('shop', 'queen_app', '{admin}');
-- Admin implies read; with it, the rest can be granted.
SELECT (pg_temp.may('queen_app')).*;
SET ROLE queen_app;
SELECT queen.grant('shop', 'queen_app', '{push,pop}');
RESET ROLE;
SELECT (pg_temp.may('queen_app')).*;
SELECT * FROM queen.grants ORDER BY queue, role, privilege;
-- Membership: with INHERIT at once, without it by SET ROLE.
SELECT role, (pg_temp.may(role)).* FROM unnest(array['queen_clerk', 'queen_apart', 'queen_other']) role;
REVOKE queen_app FROM queen_clerk;
SELECT (pg_temp.may('queen_clerk')).*;
-- public is everybody.
SELECT queen.revoke('shop', 'queen_app', '{all}'), queen.grant('shop', 'public', '{push}');
SELECT role, (pg_temp.may(role)).* FROM unnest(array['queen_other', 'queen_clerk']) role;
SELECT * FROM queen.grants;
SELECT queen.has_privilege('public', 'shop', 'push'), queen.has_privilege('public', 'shop', 'pop');
SELECT queen.revoke('shop', 'public', '{push}');
SELECT (pg_temp.may('queen_other')).*;
-- Grants are of one queue, and go with it.
SELECT queen.create_queue('aside'), queen.grant('shop', 'queen_other', '{all}');
SELECT (pg_temp.may('queen_other', 'aside')).*;
SELECT queen.grant('aside', 'queen_other', '{push}'), queen.drop_queue('aside'), queen.create_queue('aside');
SELECT (pg_temp.may('queen_other', 'aside')).*;
SELECT queen.revoke('shop', 'queen_other', '{all}');
-- A rollback takes a grant back.
BEGIN;
SELECT queen.grant('shop', 'queen_other', '{push}');
SELECT queen.has_privilege('queen_other', 'shop', 'push');
ROLLBACK;
SELECT queen.has_privilege('queen_other', 'shop', 'push');

--
-- A wrapper is an encapsulation: the user that counts is the current one
--
SET ROLE queen_shop;
CREATE FUNCTION pg_temp.order_placed(number int) RETURNS bigint LANGUAGE sql SECURITY DEFINER AS $$ SELECT message_offset FROM queen.push('shop', to_jsonb($1), 'orders') $$;
RESET ROLE;
SELECT pg_temp.as_role('queen_other', 'SELECT pg_temp.order_placed(1)'), pg_temp.as_role('queen_other', 'SELECT queen.push(''shop'', ''1'', ''orders'')');

--
-- The owner's rights end with the call, however that ends
--
SELECT queen.grant('shop', 'queen_other', '{push,pop}');
CREATE FUNCTION pg_temp.who() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION 'called as %', CASE WHEN current_user = tg_argv[0] THEN 'the owner of the table' ELSE current_user END; END $$;
SELECT relowner::regrole AS table_owner FROM pg_class WHERE oid = 'queen.segment'::regclass \gset
-- What a call ends in, who the current user is then, and whether the tables are closed to him.
CREATE FUNCTION pg_temp.after(command text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	BEGIN
		EXECUTE command;
	EXCEPTION WHEN OTHERS THEN
		RETURN SQLERRM || ', then ' || current_user || ' ' || pg_temp.fails('SELECT FROM queen.segment');
	END;
	RETURN current_user || ' ' || pg_temp.fails('SELECT FROM queen.segment');
END $$;
CREATE TRIGGER who BEFORE INSERT ON queen.segment FOR EACH ROW WHEN (current_setting('queen_test.who', true) = 'yes') EXECUTE FUNCTION pg_temp.who(:'table_owner');
BEGIN;
SET LOCAL ROLE queen_other;
SELECT pg_temp.after(command) FROM unnest(array['SELECT queen.push(''shop'', ''1'')', 'SELECT queen.push(''shop'', ''{'')', 'SELECT queen.push(''none'', ''1'')', 'SELECT queen.pop(''shop'', batch => 0)']) command;
SET LOCAL queen_test.who = 'yes';
SELECT pg_temp.after(command) FROM unnest(array['SELECT queen.push(''shop'', ''1'')', 'SELECT queen.push_batch(''shop'', ''[1]'')', 'SELECT queen.push_items(''shop'', ''[{"payload": 1}]'')', 'SELECT queen.pop(''shop'')']) command;
-- The same by a savepoint, by a result that is not read to its end, at the commit, and where it is cancelled.
SAVEPOINT here;
\set VERBOSITY sqlstate
SELECT queen.push('shop', '1');
ROLLBACK TO here;
SELECT current_user, pg_temp.fails('SELECT FROM queen.segment');
SET LOCAL queen_test.who = 'no';
DECLARE half CURSOR FOR SELECT payload FROM queen.pop('shop', 'half', auto_ack => true);
FETCH 1 FROM half;
SELECT current_user, pg_temp.fails('SELECT FROM queen.segment');
CLOSE half;
SELECT current_user, pg_temp.fails('SELECT FROM queen.segment');
ROLLBACK;
SET ROLE queen_other;
SET queen_test.who = 'yes';
BEGIN;
SELECT queen.push_deferred('shop', '1');
COMMIT;
SELECT current_user, pg_temp.fails('SELECT FROM queen.segment');
RESET queen_test.who;
BEGIN;
SELECT queen.push_deferred('shop', '1');
COMMIT;
SELECT current_user, pg_temp.fails('SELECT FROM queen.segment');
SET statement_timeout = '100ms';
SELECT queen.pop('shop', 'nothing', subscription_mode => 'new', wait => '1 min');
\set VERBOSITY default
RESET statement_timeout;
SELECT current_user, pg_temp.fails('SELECT FROM queen.segment');
RESET ROLE;
DROP TRIGGER who ON queen.segment;
SELECT queen.revoke('shop', 'queen_other', '{push,pop}');

--
-- Views show what the reader may read
--
SELECT queen.grant('shop', 'queen_app', '{push,pop}'), queen.grant('shop', 'queen_other', '{read}');
SELECT queen.subscribe('shop', 'g'), queen.push('aside', '1', 'p');
CREATE FUNCTION pg_temp.seen(role text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	v text;
	n bigint;
	answer text := '';
BEGIN
	PERFORM set_config('role', role, true);
	FOR v IN SELECT relname FROM pg_class WHERE relnamespace = 'queen'::regnamespace AND relkind = 'v' AND relname <> 'worker_status' AND has_table_privilege(role, oid, 'SELECT') ORDER BY 1 LOOP
		EXECUTE format('SELECT count(*) FROM queen.%I', v) INTO n;
		answer := answer || CASE WHEN n > 0 THEN v || ' ' || n || ' ' ELSE '' END;
	END LOOP;
	RESET ROLE;
	RETURN answer;
END $$;
SELECT role, pg_temp.seen(role) FROM unnest(array['queen_shop', 'queen_app', 'queen_other', 'queen_apart', 'queen_super']) role;
SELECT pg_temp.as_role('queen_other', 'SELECT FROM queen.readable_queue'), pg_temp.as_role('queen_other', 'SELECT FROM queen.queue_grant');

--
-- set_owner: the owner, to a role that he is a member of and that may create
--
SELECT left(pg_temp.as_role('queen_shop', 'SELECT queen.set_owner(''shop'', ''queen_app'')'), 5) AS as_role;
GRANT queen_app TO queen_shop;
SELECT pg_temp.as_role('queen_shop', 'SELECT queen.set_owner(''shop'', ''queen_app'')');
GRANT CREATE ON SCHEMA queen TO queen_app;
SELECT queen.grant('shop', 'queen_other', '{admin}');
SELECT pg_temp.as_role('queen_other', 'SELECT queen.set_owner(''shop'', ''queen_other'')');
SET ROLE queen_shop;
SELECT queen.set_owner('shop', 'queen_app'), queen.set_owner('shop', 'queen_app');
RESET ROLE;
SELECT queue, owner FROM queen.queues WHERE queue = 'shop';
REVOKE queen_app FROM queen_shop;
SELECT role, (pg_temp.may(role)).* FROM unnest(array['queen_shop', 'queen_app']) role;
SELECT queen.set_owner('shop', 'queen_shop');

--
-- A role that is dropped has no right, and its grants can be taken back by its number
--
SELECT 'queen_clerk'::regrole::oid AS clerk \gset
SELECT queen.grant('shop', 'queen_clerk', '{push}');
DROP ROLE queen_clerk;
SELECT count(*) FROM queen.grants WHERE role = :'clerk';
SELECT queen.has_privilege('queen_other', 'shop', 'push');
SELECT queen.revoke('shop', :'clerk', '{push}');
SELECT count(*) FROM queen.grants WHERE role = :'clerk';
-- A dropped owner: only superusers, and whoever was granted something, until they give it to somebody.
REVOKE CREATE ON SCHEMA queen FROM queen_shop;
DROP FUNCTION pg_temp.order_placed;
DROP ROLE queen_shop;
SELECT role, (pg_temp.may(role)).* FROM unnest(array['queen_app', 'queen_super']) role;
SELECT queen.set_owner('shop', 'queen_app');
SELECT (pg_temp.may('queen_app')).*;

--
-- Refused
--
SELECT pg_temp.fails(command) FROM unnest(array['SELECT queen.grant(''none'', ''queen_app'', ''{push}'')', 'SELECT queen.grant(''shop'', ''nobody'', ''{push}'')', 'SELECT queen.grant(''shop'', ''queen_app'', ''{push,select}'')', 'SELECT queen.grant(''shop'', ''queen_app'', ''{}'')',
	'SELECT queen.grant(''shop'', ''queen_app'', NULL)', 'SELECT queen.grant(''shop'', NULL, ''{push}'')', 'SELECT queen.grant(NULL, ''queen_app'', ''{push}'')', 'SELECT queen.grant(''shop'', ''queen_app'', ''{NULL}'')', 'SELECT queen.grant(''shop'', ''12345678'', ''{push}'')', 'SELECT queen.revoke(''shop'', ''99999999999'', ''{push}'')',
	'SELECT queen.set_owner(''shop'', ''public'')', 'SELECT queen.set_owner(''shop'', ''nobody'')', 'SELECT queen.set_owner(''shop'', NULL)', 'SELECT queen.has_privilege(''nobody'', ''shop'', ''push'')', 'SELECT queen.has_privilege(''queen_app'', ''none'', ''push'')', 'SELECT queen.has_privilege(''queen_app'', ''shop'', ''select'')',
	'SELECT queen.has_privilege(NULL, ''shop'', ''push'')', 'SELECT queen.has_privilege(''queen_app'', ''shop'', NULL)']) command;
SELECT pg_temp.as_role('queen_other', 'SELECT queen.has_privilege(''queen_app'', ''shop'', ''push'')');
\set QUIET on
SET client_min_messages = warning;
SELECT queen.drop_queue(queue, "cascade" => true) FROM unnest(array['shop', 'aside']) queue \g /dev/null
REVOKE CREATE ON SCHEMA queen FROM queen_app;
DROP ROLE queen_app, queen_apart, queen_other, queen_super;
SELECT count(*) AS left_over FROM queen.queue_grant;
