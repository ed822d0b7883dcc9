# What a connection pool does between calls (SET ROLE, RESET ALL, DISCARD ALL)
# and what others do to the extension meanwhile (DROP EXTENSION, CREATE
# EXTENSION): a session with live plans goes on, or is told by an error; it
# never works on what is gone.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QueenNode;
use Test::More;

my $node = queen_node('main');
my $session = session($node);

# One run through the verbs, so that each has its plans; answers in short.
sub work
{
	my ($client, $queue) = @_;
	my @answers = (
		$client->query("SELECT message_offset FROM queen.push('$queue', '1', 'p')"),
		$client->query("SELECT messages FROM queen.push_batch('$queue', '[2, 3]', 'p')"),
		$client->query("SELECT message_offset FROM queen.push_items('$queue', '[{\"payload\": 4, \"partition\": \"p\"}]')"),
		$client->query("SELECT string_agg(payload::text, ',') FROM queen.pop('$queue', 'g')"),
		$client->query("SELECT queen.ack(lease) FROM queen.leases WHERE queue = '$queue'"),
		$client->query("SELECT behind FROM queen.consumer_groups WHERE queue = '$queue'"));

	return join ' ', @answers;
}

$node->safe_psql('postgres', q{
	CREATE ROLE app;
	CREATE ROLE other;
	GRANT CREATE ON SCHEMA queen TO app;
	SET ROLE app;
	SELECT queen.create_queue('work');
});

# Roles change between calls of one session, and so do rights.
is($session->query('SET ROLE app'), '', 'one role');
is(work($session, 'work'), '0 2 3 1,2,3,4 4 0', 'the owner works');
is($session->query('SET ROLE other'), '', 'another role');
is($session->query("SELECT queen.push('work', '1', 'p')"), '42501', 'may not push');
is($session->query("SELECT count(*) FROM queen.pop('work', 'g')"), '42501', 'nor pop');
is($session->query('SELECT count(*) FROM queen.queues'), '0', 'nor see');
is($session->query("SELECT queen.create_queue('mine')"), '42501', 'nor make a queue');
is($session->query('RESET ROLE'), '', 'back');
is($session->query("SELECT message_offset FROM queen.push('work', '1', 'p')"), '4', 'the superuser may');
is($session->query("SELECT current_user = session_user"), 't', 'and is who he was');

# Settings of the session do not harm plans, nor calls the settings.
$session->query($_) foreach ('SET search_path = pg_temp', 'SET enable_indexscan = off', 'SET plan_cache_mode = force_custom_plan',
	'CREATE TEMP TABLE segment (partition_id int)', 'CREATE TEMP TABLE cursor (version text)');
is(work($session, 'work'), '5 2 8 1,1,2,3,4 5 0', 'with odd settings');
is($session->query(q{SELECT string_agg(name || '=' || setting, ' ' ORDER BY name) FROM pg_settings
	WHERE name IN ('enable_indexscan', 'enable_seqscan', 'enable_sort', 'jit', 'plan_cache_mode', 'search_path')}),
	'enable_indexscan=off enable_seqscan=on enable_sort=on jit=on plan_cache_mode=force_custom_plan search_path=pg_temp',
	'which stay as they were');
is($session->query("SELECT queen.push('work', '{', 'p')"), '22P02', 'an error in between');
is($session->query("SELECT queen.pop('nowhere', 'g')"), '42704', 'and another one');
is($session->query('SHOW enable_seqscan'), 'on', 'leaves them, too');

foreach my $reset ('RESET ALL', 'DISCARD PLANS', 'DISCARD ALL', 'DEALLOCATE ALL')
{
	is($session->query($reset), '', $reset);
	$session->query('\set VERBOSITY sqlstate');
	like(work($session, 'work'), qr/^\d+ 2 \d+ 1,2,3,4 4 0$/, "all works after $reset");
}
is($session->query("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database <> 0"), '0', 'no lock is left');

# Prepared statements and functions of the client with plans of their own.
is($session->query(q{PREPARE push(json) AS SELECT message_offset FROM queen.push('work', $1, 'prepared')}), '', 'a prepared push');
is($session->query(q{PREPARE pop(text) AS SELECT string_agg(payload::text, ',') FROM queen.pop('work', $1, partition => 'prepared', auto_ack => true)}),
	'', 'a prepared pop');
$node->safe_psql('postgres', q{
	CREATE FUNCTION wrapped(body json) RETURNS bigint LANGUAGE plpgsql
	AS $$ BEGIN RETURN (SELECT message_offset FROM queen.push('work', body, 'wrapped')); END $$;
});
foreach my $n (0 .. 6)
{
	$session->query("EXECUTE push('$n')");
	$session->query("EXECUTE pop('g')");
	$session->query("SELECT wrapped('$n')");
}
is($session->query(q{SELECT string_agg(partition || next_offset, ' ' ORDER BY partition) FROM queen.partitions WHERE partition <> 'p'}),
	'prepared7 wrapped7', 'each ran seven times');

# While a session is inside a transaction that used queen, DROP EXTENSION waits.
$session->query('BEGIN');
$session->query("SELECT queen.push('work', '1', 'open')");
is(sqlstate($node, "SET lock_timeout = '200ms';\nDROP EXTENSION queen;"), '55P03', 'DROP EXTENSION waits for an open transaction');
$session->query('COMMIT');

# Gone: an error, no more.
$node->safe_psql('postgres', 'DROP EXTENSION queen');
is($session->query("SELECT queen.push('work', '1', 'p')"), '3F000', 'no push without the extension');
is($session->query("EXECUTE push('1')"), '3F000', 'nor a prepared one');
is($session->query("SELECT wrapped('1')"), '3F000', 'nor a wrapped one');

# There again, with the same ids for other things: nothing of the past is left.
foreach my $turn (1 .. 3)
{
	$node->safe_psql('postgres', 'CREATE EXTENSION queen');
	is($session->query("SELECT queen.push('work', '1', 'p')"), '42704', "turn $turn: the queue is gone");
	is($session->query("SELECT queen.create_queue('work')"), '', "turn $turn: it is made again");
	is(work($session, 'work'), '0 2 3 1,2,3,4 4 0', "turn $turn: and works from the beginning");
	is($session->query("EXECUTE push('\"new\"')"), '0', "turn $turn: a prepared push");
	is($session->query("EXECUTE pop('g')"), '"new"', "turn $turn: a prepared pop");
	is($session->query("SELECT wrapped('1')"), '0', "turn $turn: a wrapped push");
	is($session->query(q{SELECT count(*) FROM queen.cursor c WHERE committed > 3}), '0', "turn $turn: cursors are new");
	is($session->query(q{SELECT queen.push_deferred('work', '1', 'deferred')}), 'deferred', "turn $turn: a deferred push");
	is($session->query(q{SELECT next_offset FROM queen.partitions WHERE partition = 'deferred'}), '1', "turn $turn: which is appended");

	# Some more, so that what the session remembers is beyond what comes next.
	work($session, 'work') foreach (1 .. 20);
	$node->safe_psql('postgres', 'DROP EXTENSION queen');
}

# Both in one transaction of the session itself, and undone.
$node->safe_psql('postgres', 'CREATE EXTENSION queen');
$session->query("SELECT queen.create_queue('work')");
is(work($session, 'work'), '0 2 3 1,2,3,4 4 0', 'before');
$session->query('BEGIN');
$session->query('DROP EXTENSION queen');
$session->query('CREATE EXTENSION queen');
$session->query("SELECT queen.create_queue('work')");
is(work($session, 'work'), '0 2 3 1,2,3,4 4 0', 'dropped and made again inside a transaction');
$session->query('ROLLBACK');
is(work($session, 'work'), '4 2 7 1,2,3,4 4 0', 'after a rollback all goes on as before');

# A queue dropped and made again by others, with a pop's memory of its turn.
$node->safe_psql('postgres', q{
	SELECT queen.drop_queue('work', true);
	SELECT queen.create_queue('work');
});
is(work($session, 'work'), '0 2 3 1,2,3,4 4 0', 'a queue made again by another session');

# A CALL whose procedure undoes its transaction frees its own statement, where the
# client bound parameters to it.
$node->safe_psql('postgres', q{CREATE PROCEDURE undo(n int) LANGUAGE plpgsql AS 'BEGIN ROLLBACK; END'});
append_to_file($node->basedir . '/undo.sql', "CALL undo(:n);\n");
$node->command_ok([ 'pgbench', '-n', '-M', 'extended', '-t', '10', '-D', 'n=1', '-f', $node->basedir . '/undo.sql', 'postgres' ],
	'a procedure may undo its transaction');

unlike(slurp_file($node->logfile), qr/PANIC|TRAP|terminated by signal|XX000/, 'nothing internal went wrong');
$session->quit;
$node->stop;
done_testing();
