# Sessions that wait: every way to make something poppable wakes one, whatever
# stands between; a push wakes few of many; a wake is not lost with the session
# that got it; waiters hold nothing and end at once. With queen preloaded.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QueenNode;
use Test::More;
use Time::HiRes qw(time);

# The interval is such that no look of its own accord helps a wake that is lost.
my $node = queen_node('main', q{
	max_connections = 250
	max_prepared_transactions = 10
	queen.reconcile_interval = '1h'
	restart_after_crash = on
});

# How many sessions sleep in a wait for a queue that is called so.
sub sleepers
{
	my ($database) = @_;

	return $node->safe_psql('postgres', sprintf(q{
		SELECT count(*) FROM pg_stat_activity
		 WHERE wait_event_type = 'Extension' AND query ~ 'wait' AND datname = '%s'
	}, $database // 'postgres'));
}

# Waits until so many sessions sleep.
sub until_asleep
{
	my ($count, $database) = @_;

	$node->poll_query_until('postgres', sprintf(q{
		SELECT count(*) = %d FROM pg_stat_activity
		 WHERE wait_event_type = 'Extension' AND query ~ 'wait' AND datname = '%s'
	}, $count, $database // 'postgres')) or die "not $count sleepers";
}

$node->safe_psql('postgres', q{
	SELECT queen.create_queue('q', lease => '1 hour');
	SELECT queen.create_queue('other');
	SELECT queen.subscribe('q', g) FROM unnest(array['g', 'h']) g;
});

# A fresh start: nothing is left for anybody.
sub clear
{
	$node->safe_psql('postgres', q{
		SELECT count(*) FROM queen.seek('q', 'g', to_end => true) WHERE EXISTS (SELECT FROM queen.partitions);
		SELECT count(*) FROM queen.seek('q', 'h', to_end => true) WHERE EXISTS (SELECT FROM queen.partitions);
	});
}

my $push = q{SELECT message_offset FROM queen.push('q', '1', '%s')};
my $take = q{SELECT count(*) FROM queen.pop('q', 'g')};

$node->safe_psql('postgres', sprintf($push, $_)) foreach ('a', 'b');

my %wait = (
	'CALL' => q{CALL queen.wait('q', 'g', '100 s')},
	'pop' => q{SELECT count(*) > 0 FROM queen.pop('q', 'g', wait => '50 s')},
	'pop of b' => q{SELECT count(*) > 0 FROM queen.pop('q', 'g', partition => 'b', wait => '50 s')});
my $waiter = session($node);
my $worker = session($node);

# One waiter, who sleeps after some statements and is woken by the last of others.
sub wakes
{
	my ($name, $how, $before, @after) = @_;

	clear();
	$worker->query($_) foreach (@$before);
	$waiter->send($wait{$how});
	until_asleep(1);
	my $last = pop @after;
	foreach my $statement (@after)
	{
		$worker->query($statement);
		is(sleepers(), 1, "$name: still asleep after $statement");
	}
	my $since = time();
	unlike($worker->query($last), qr/^[0-9A-Z]{5}$/, "$name is done");
	is($waiter->query("SELECT 'woken'"), "t\nwoken", "$name wakes $how");
	cmp_ok(time() - $since, '<', 10, "$name does so soon");
	$worker->query('COMMIT') if $name =~ /savepoint/;
}

foreach my $how ('CALL', 'pop', 'pop of b')
{
	wakes('a commit', $how, [], 'BEGIN', sprintf($push, 'b'), 'COMMIT');
	wakes('a push after one that was rolled back', $how, [], 'BEGIN', sprintf($push, 'b'), 'ROLLBACK', sprintf($push, 'b'));
	wakes('a rolled back pop', $how, [ sprintf($push, 'b'), 'BEGIN', $take ], 'ROLLBACK');
	wakes('a pop in a savepoint', $how, [ sprintf($push, 'b'), 'BEGIN', 'SAVEPOINT s', $take ], 'ROLLBACK TO s');
	wakes('a push in a released savepoint', $how, [], 'BEGIN', 'SAVEPOINT s', sprintf($push, 'b'), 'RELEASE s', 'COMMIT');
	wakes('a push beside a savepoint that is rolled back', $how, [], 'BEGIN', sprintf($push, 'b'), 'SAVEPOINT s', sprintf($push, 'b'), 'ROLLBACK TO s', 'COMMIT');
	wakes('an ack with more behind it', $how, [ sprintf($push, 'b'), $take, sprintf($push, 'b') ], q{SELECT queen.ack(lease) FROM queen.leases});
	wakes('a release', $how, [ sprintf($push, 'b'), $take ], q{SELECT queen.release(lease) FROM queen.leases});
	wakes('a nack', $how, [ sprintf($push, 'b'), $take ], q{SELECT queen.nack(lease, delay => '200 ms') FROM queen.leases});
	wakes('a reject with more behind it', $how, [ sprintf($push, 'b'), $take, sprintf($push, 'b') ], q{SELECT queen.reject(lease) FROM queen.leases});
	wakes('a seek', $how, [ sprintf($push, 'b'), $take ], q{SELECT count(*) FROM queen.seek('q', 'g', by => -1)})
		if $how ne 'pop' && $how ne 'pop of b';
	wakes('a seek of a partition', $how, [ sprintf($push, 'b'), $take ], q{SELECT count(*) FROM queen.seek('q', 'g', partition => 'b', by => -1)});
	wakes('COMMIT PREPARED', $how, [], 'BEGIN', sprintf($push, 'b'), q{PREPARE TRANSACTION 'p'}, q{COMMIT PREPARED 'p'});
	wakes('ROLLBACK PREPARED', $how, [ sprintf($push, 'b'), 'BEGIN', $take, q{PREPARE TRANSACTION 'p'} ], q{ROLLBACK PREPARED 'p'});
	wakes('a batch over many partitions', $how, [], q{SELECT count(*) FROM queen.push_items('q', (SELECT jsonb_agg(jsonb_build_object('payload', 1, 'partition', n::text)) FROM generate_series(1, 20) n) || '[{"payload": 1, "partition": "b"}]')});
}
wakes('a pause that ends', 'CALL', [ sprintf($push, 'a'), q{SELECT queen.pause_queue('q')} ], q{SELECT queen.resume_queue('q')});
wakes('a replay', 'CALL', [ q{SELECT queen.push('other', '1', 'b')} ], q{SELECT queen.replay('other', 'b', 0, 0, 'q')});
wakes('a redrive', 'CALL', [ sprintf($push, 'b'), $take, q{SELECT queen.reject(lease) FROM queen.leases} ], q{SELECT count(*) FROM queen.redrive('q', 'g')});
wakes('a deferred push', 'CALL', [], 'BEGIN', q{SELECT queen.push_deferred('q', '1', 'b')}, 'COMMIT');

# What time makes ready: a delayed message, which the worker is told of, and a segment that is old enough.
$node->safe_psql('postgres', q{SELECT queen.create_queue('young', delivery_delay => '700 ms'); SELECT queen.subscribe('young', 'y')});
foreach my $how ('CALL', 'pop')
{
	clear();
	# What the launcher was told just before, of a message that came or did not, is no reason not to tell it.
	$worker->query($_) foreach (q{SELECT status FROM queen.push('other', '1', 'b', delay => '1 ms')},
		'BEGIN', q{SELECT status FROM queen.push('q', '1', 'b', delay => '1 ms')}, 'ROLLBACK');
	$worker->query(q{SELECT status FROM queen.push('q', '1', 'b', delay => '700 ms')});
	my $since = time();
	is($waiter->query($wait{$how}), 't', "a delayed message wakes $how");
	cmp_ok(time() - $since, '<', 8, 'before the next pass of the worker would come');
	$worker->query(q{SELECT message_offset FROM queen.push('young', '1', 'b')});
	$since = time();
	is($waiter->query($wait{$how} =~ s/'q', 'g'/'young', 'y'/r), 't', "a segment that comes of age wakes $how");
	cmp_ok(time() - $since, '<', 8, 'in time');
}

# A lease that somebody takes while another one sleeps, and lets expire.
clear();
$waiter->send(q{CALL queen.wait('q', 'g', '100 s')});
until_asleep(1);
$worker->query('BEGIN');
$worker->query(sprintf($push, 'a'));
$worker->query(q{SELECT count(*) FROM queen.pop('q', 'g', lease_time => '2 s')});
my $since = time();
$worker->query('COMMIT');
is($waiter->query("SELECT 'woken'"), "t\nwoken", 'a lease that expires wakes who slept before it was taken');
cmp_ok(time() - $since, '<', 30, 'in time');

# Of many that sleep until a lease ends, few wake by it, and the next end wakes the next.
clear();
$node->safe_psql('postgres', sprintf($push, $_)) foreach ('a', 'b');
$node->safe_psql('postgres', q{SELECT count(*) FROM queen.pop('q', 'g', partition => 'a', lease_time => '2 s')});
$node->safe_psql('postgres', q{SELECT count(*) FROM queen.pop('q', 'g', partition => 'b', lease_time => '3 s')});
my @crowd = map { session($node) } (1 .. 8);
foreach my $one (@crowd)
{
	$one->send(q{SELECT count(*) FROM queen.pop('q', 'g', batch => 1, auto_ack => true, wait => '50 s')});
}
$node->poll_query_until('postgres', q{
	SELECT count(*) = 6 AND (SELECT count(*) = 0 FROM queen.leases WHERE consumer_group = 'g') FROM pg_stat_activity
	 WHERE wait_event_type = 'Extension' AND query ~ 'wait'
}) or die 'not two of eight';
is(sleepers(), 6, 'two leases that end wake two of eight');
$node->safe_psql('postgres', q{SELECT queen.push_batch('q', '[1, 2, 3, 4, 5, 6]', 'a')});
is(join(' ', map { $_->query("SELECT 'got'") } @crowd), join(' ', ("1\ngot") x 8), 'six messages wake the others, one after the other');
$_->quit foreach (@crowd);

# Who waits for one partition does not swallow what is passed on.
clear();
$waiter->send(q{SELECT count(*) FROM queen.pop('q', 'g', partition => 'b', wait => '50 s')});
until_asleep(1);
my $third = session($node);
$third->send(q{CALL queen.wait('q', 'g', '100 s')});
until_asleep(2);
$worker->query(q{SELECT count(*) FROM queen.push_items('q', '[{"payload": 1, "partition": "a"}, {"payload": 1, "partition": "c"}]')});
$third->query("SELECT 'told'");
$third->send(q{SELECT count(*) FROM queen.pop('q', 'g', partition => 'a', wait => '50 s')});
$third->query("SELECT 'took'");
is(sleepers(), 1, 'who waits for b sleeps on');
$worker->query(sprintf($push, 'b'));
is($waiter->query("SELECT 'woken'"), "1\nwoken", 'until b has something');
$third->quit;

# One waiter of each group is woken.
clear();
my $second = session($node);
$waiter->send(q{CALL queen.wait('q', 'g', '100 s')});
$second->send(q{CALL queen.wait('q', 'h', '100 s')});
until_asleep(2);
$worker->query(sprintf($push, 'a'));
is($waiter->query("SELECT 'woken'") . $second->query("SELECT 'woken'"), "t\nwokent\nwoken", 'a push wakes both groups');

# A waiter holds nothing that others mind.
clear();
$waiter->send(q{CALL queen.wait('q', 'g', '100 s')});
until_asleep(1);
is($node->safe_psql('postgres', q{
	SELECT count(backend_xmin), count(backend_xid) FROM pg_stat_activity WHERE query ~ '^CALL'
}), '0|0', 'a waiter has no snapshot');
is($node->safe_psql('postgres', q{
	SELECT string_agg(l.locktype, ' ') FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE a.query ~ '^CALL'
}), 'virtualxid', 'nor a lock');
is(sqlstate($node, q{SET lock_timeout = '5 s'; SELECT count(*) >= 0 FROM queen.seek('q', 'g', to_end => true);}), 't',
	'a seek of the queue does not wait for it');

# Cancelled, it is gone; so it is with a session that is terminated.
my $cancel = q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query ~ '^(CALL|SELECT count.*wait =)' AND state = 'active' AND pid <> pg_backend_pid()};
$since = time();
$node->safe_psql('postgres', $cancel);
like($waiter->query("SELECT 'on'"), qr/57014|on/, 'a wait is cancelled');
$waiter->send(q{SELECT count(*) FROM queen.pop('q', 'g', wait => '50 s')});
until_asleep(1);
$node->safe_psql('postgres', $cancel);
like($waiter->query("SELECT 'on'"), qr/57014|on/, 'a waiting pop is cancelled');
cmp_ok(time() - $since, '<', 10, 'at once');
is(sleepers(), 0, 'nobody sleeps on');

# A session that was told and ends without a pop passes it on.
clear();
$waiter->send(q{CALL queen.wait('q', 'g', '100 s')});
until_asleep(1);
$second->send(q{CALL queen.wait('q', 'g', '100 s')});
until_asleep(2);
$worker->query(sprintf($push, 'a'));
$waiter->query("SELECT 'told'");
is(sleepers(), 1, 'a push wakes one of two');
$waiter->quit;
is($second->query("SELECT 'told'"), "t\ntold", 'who is told and leaves passes it on');
$waiter = session($node);

# Two databases whose queues have the same ids.
$node->safe_psql('postgres', 'CREATE DATABASE twin');
$node->safe_psql('twin', q{
	CREATE EXTENSION queen;
	SELECT queen.create_queue('q'), queen.create_queue('other');
	SELECT queen.subscribe('q', g) FROM unnest(array['g', 'h']) g;
});
clear();
my $twin = session($node, 'twin');
$twin->send(q{CALL queen.wait('q', 'g', '100 s')});
$waiter->send(q{CALL queen.wait('q', 'g', '100 s')});
until_asleep(1, 'twin');
until_asleep(1);
$node->safe_psql('postgres', sprintf($push, 'a'));
is($waiter->query("SELECT 'woken'"), "t\nwoken", 'a push wakes its own database');
is(sleepers('twin'), 1, 'and not another one');
is(sqlstate($node, 'DROP DATABASE twin;'), '55006', 'a waiter keeps its database as any session does');
is(sqlstate($node, 'DROP DATABASE twin WITH (FORCE);'), '', 'and is ended as any session is');
is(sleepers('twin'), 0, 'it sleeps no more');

# Many: one push wakes few of them, and each message finds somebody.
my $sessions = 200;

$node->safe_psql('postgres', q{
	SELECT queen.create_queue('many');
	SELECT queen.subscribe('many', 'g');
	CREATE TABLE got (message_offset bigint, at timestamptz DEFAULT clock_timestamp());
	CREATE PROCEDURE get_one() LANGUAGE plpgsql AS $$
	DECLARE
		ready boolean;
		taken bigint;
	BEGIN
		LOOP
			CALL queen.wait('many', 'g', '100 s', ready);
			INSERT INTO got SELECT message_offset FROM queen.pop('many', 'g', 1, auto_ack => true) RETURNING message_offset INTO taken;
			COMMIT;
			EXIT WHEN taken IS NOT NULL OR NOT ready;
		END LOOP;
	END $$;
});
my $script = $node->basedir . '/many.sql';
append_to_file($script, "CALL get_one();\n");
my $pgbench = IPC::Run::start(
	[ 'pgbench', '-n', '-c', $sessions, '-j', 4, '-t', 1, '-f', $script, $node->connstr('postgres') ],
	'>', \my $out, '2>', \my $err);
$node->poll_query_until('postgres', sprintf(q{
	SELECT count(*) = %d FROM pg_stat_activity WHERE wait_event_type = 'Extension' AND query ~ 'get_one'
}, $sessions)) or die 'not all wait';
my $ended = q{
	SELECT %d - count(*) FROM pg_stat_activity WHERE wait_event_type = 'Extension' AND query ~ 'get_one'};
my $count_looks = q{SELECT sum(calls) FROM pg_stat_user_functions WHERE funcname = 'pop'};

$node->safe_psql('postgres', q{SELECT queen.push('many', '0', 'p')});
$node->poll_query_until('postgres', 'SELECT count(*) = 1 FROM got') or die 'the message was not taken';
cmp_ok($node->safe_psql('postgres', sprintf($ended, $sessions)), '<=', 3, "one push ends the sleep of few of $sessions");

# The rest, some one by one to many partitions, some at once to one.
$node->safe_psql('postgres', q{SELECT queen.push('many', '0', 'p' || n) FROM generate_series(1, 99) n});
$node->safe_psql('postgres', q{SELECT queen.push_batch('many', (SELECT jsonb_agg(n) FROM generate_series(1, 50) n), 'p')});
foreach my $n (1 .. 50)
{
	$node->safe_psql('postgres', "SELECT queen.push('many', '0', 'p$n')");
}
$node->poll_query_until('postgres', "SELECT count(*) = $sessions FROM got") or diag($node->safe_psql('postgres', 'SELECT count(*) FROM got'));
is($node->safe_psql('postgres', 'SELECT count(*) FROM got'), $sessions, 'each of the others got one');
$pgbench->finish;
is($pgbench->result(0), 0, 'nobody failed') or diag($err);

# A waiter that is killed: the server starts anew, and waits go on.
$waiter->query("SELECT 1");
$_->quit foreach ($waiter, $second, $worker);
my $victim = session($node);
my $pid = $victim->query('SELECT pg_backend_pid()');
clear();
$victim->send(q{CALL queen.wait('q', 'g', '100 s')});
until_asleep(1);
kill 'KILL', $pid;
$node->poll_query_until('postgres', 'SELECT true', 't') or die 'no restart';
$victim->{psql}{run}->finish;
$waiter = session($node);
$waiter->send(q{CALL queen.wait('q', 'g', '100 s')});
until_asleep(1);
$node->safe_psql('postgres', sprintf($push, 'a'));
is($waiter->query("SELECT 'woken'"), "t\nwoken", 'after a crash a push wakes as before');

# A shutdown does not wait for waiters.
clear();
$waiter->send(q{CALL queen.wait('q', 'g', '100 s')});
until_asleep(1);
$since = time();
$node->stop('fast');
cmp_ok(time() - $since, '<', 20, 'a fast shutdown does not wait for them');
$waiter->{psql}{run}->finish;

# Without preloading it polls.
$node->append_conf('postgresql.conf', "shared_preload_libraries = ''");
$node->start;
$waiter = session($node);
$waiter->send(q{CALL queen.wait('q', 'g', '100 s')});
until_asleep(1);
$node->safe_psql('postgres', sprintf($push, 'a'));
is($waiter->query("SELECT 'woken'"), "t\nwoken", 'without preloading a push is found');
clear();
$waiter->send(q{SELECT count(*) FROM queen.pop('q', 'g', wait => '50 s')});
until_asleep(1);
$node->safe_psql('postgres', sprintf($push, 'a'));
is($waiter->query("SELECT 'woken'"), "1\nwoken", 'by a pop, too');
$waiter->quit;
$node->stop;
done_testing();
