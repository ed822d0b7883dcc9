# Redrive when things break: a run in steps is cancelled, a backend is killed in
# the middle of it, the server goes down by kill -9. What was committed stays
# committed, what was not stays a dead letter, and a later run finishes: every
# message comes back exactly once, in order. A standby answers dry runs only.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QueenNode;
use Test::More;

my $letters = 3000;
my $node = queen_node('main', 'restart_after_crash = on', allows_streaming => 1);

$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;

# Dead letters in seven partitions, and as many messages in a client's queue.
$node->safe_psql('postgres', qq{
	SELECT queen.create_queue('work'), queen.create_queue('dlq'), queen.create_queue('home');
	SELECT count(*) FROM queen.push_items('work', (SELECT json_agg(json_build_object('payload', n, 'partition', 'p' || n % 7)) FROM generate_series(1, $letters) n));
	SELECT count(*) FROM queen.push_items('dlq', (SELECT json_agg(json_build_object('partition', 'p' || n % 7, 'payload',
		json_build_object('job', 'j', 'data', n, 'meta', json_build_object('schema_version', 1, 'queue', 'home')))) FROM generate_series(1, $letters) n));
	DO \$\$
	DECLARE
		l uuid;
	BEGIN
		LOOP
			SELECT lease INTO l FROM queen.pop('work', 'g', 1);
			EXIT WHEN NOT FOUND;
			PERFORM queen.reject(l);
		END LOOP;
	END \$\$;
});

# What is there: dead letters, and what was sent back.
sub counts
{
	return $node->safe_psql('postgres', q{
		SELECT (SELECT count(*) FROM queen.dead_letters), (SELECT sum(next_offset) FROM queen.partitions WHERE queue = 'work') - } . $letters);
}

# Waits until so many were sent back by a run that goes on.
sub wait_for_redriven
{
	my ($count) = @_;

	$node->poll_query_until('postgres', "SELECT coalesce(sum(done), 0) >= $count FROM queen.dead_letter_history WHERE queue = 'work'")
	  or die 'redrive does not get on';
}

# A run at a slow rate in the background; its exit is not asked for.
sub start_run
{
	my ($rate) = @_;
	my %run = (out => '', err => '');

	$run{handle} = IPC::Run::start(
		[ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', "SET application_name = 'run'", '-c', "CALL queen.redrive_in_steps('work', per_second => $rate)" ],
		'>', \$run{out}, '2>', \$run{err}, IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	return \%run;
}

my $base = 0;

# Breaks a run off by some means after it has sent some back, and looks at what is left.
sub break_off
{
	my ($name, $means) = @_;
	my $run = start_run(400);

	wait_for_redriven($base + 100);
	$means->();
	eval { $run->{handle}->finish };
	my ($left, $sent) = split /\|/, counts();
	is($left + $sent, $letters, "$name: every message is a dead letter or was sent back");
	cmp_ok($sent, '>=', $base + 100, "$name: what was committed stays");
	cmp_ok($left, '>', 0, "$name: the rest stays, too");
	is($node->safe_psql('postgres', "SELECT sum(done) FROM queen.dead_letter_history WHERE queue = 'work'"), $sent,
		"$name: the history tells how many");
	$base = $sent;
}

break_off('cancel', sub {
	$node->safe_psql('postgres', "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'run'");
});
break_off('terminate', sub {
	$node->safe_psql('postgres', "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'run'");
});
break_off('kill -9 of the backend', sub {
	my $pid = $node->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE application_name = 'run'");
	kill 'KILL', $pid;
	$node->poll_query_until('postgres', "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = 'run')");
});
break_off('kill -9 of the server', sub {
	$node->kill9;
	start_again($node);
});

# The rate is kept, also after a wait: what could not go meanwhile is not caught up.
$node->safe_psql('postgres', q{
	SELECT queen.create_queue('paced');
	SELECT queen.push_batch('paced', (SELECT json_agg(n) FROM generate_series(1, 60) n), 'p');
	DO $$
	DECLARE
		l uuid;
	BEGIN
		LOOP
			SELECT lease INTO l FROM queen.pop('paced', 'g', 1);
			EXIT WHEN NOT FOUND;
			PERFORM queen.reject(l);
		END LOOP;
	END $$;
});
my $holder = $node->background_psql('postgres');
$holder->query("BEGIN");
$holder->query("SELECT queen.push('paced', '0', 'p')");
my $pace = IPC::Run::start(
	[ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', "SET application_name = 'run'", '-c', "CALL queen.redrive_in_steps('paced', per_second => 40)" ],
	'>', \my $pace_out, '2>', \my $pace_err, IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
$node->poll_query_until('postgres', "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = 'run' AND wait_event_type = 'Lock' AND clock_timestamp() - query_start > '1.5 s')")
  or die 'the redrive does not wait';
$holder->query("COMMIT");
$holder->quit;
$pace->finish;
is($pace_out, "60|0\n", 'all are sent back in steps');
is($node->safe_psql('postgres', q{
	SELECT max(n) <= 21 FROM (
		SELECT count(*) OVER (ORDER BY created_at RANGE BETWEEN CURRENT ROW AND '100 ms' FOLLOWING) AS n FROM queen.read('paced', 'p', 61)) w
}), 't', 'no more than two steps come at once');
is($node->safe_psql('postgres', "SELECT max(created_at) - min(created_at) >= '0.9 s' FROM queen.read('paced', 'p', 61)"), 't', 'the rate is kept');

# A message that fails again while a run goes on is not met twice by it.
my $slow = $node->background_psql('postgres');
$slow->query_until(qr/started/, "\\echo started\nCALL queen.redrive_in_steps('work', filter => '\$.partition == \"p3\"', per_second => 300);\n");
wait_for_redriven($base + 100);
is($node->safe_psql('postgres', q{
	SELECT count(queen.reject(lease)) > 0 FROM queen.pop('work', 'g', 1, partition => 'p3');
	SELECT count(*) FROM queen.dead_letters WHERE redriven_from IS NOT NULL;
}), "t\n1", 'a message fails again');
$slow->quit;
is($node->safe_psql('postgres', "SELECT count(*) FROM queen.dead_letters WHERE redriven_from IS NOT NULL AND queue = 'work'"), '1',
	'the run that sent it back does not send it again');

$node->safe_psql('postgres', "CALL queen.redrive_in_steps('work', per_second => 1000000)");
is($node->safe_psql('postgres', "SELECT count(*) FROM queen.dead_letters WHERE queue = 'work'"), '0', 'a later run finishes');
is($node->safe_psql('postgres', q{
	SELECT count(*), count(DISTINCT payload::text) FROM queen.pop('work', 'g', 100000, auto_ack => true)
}), "$letters|$letters", 'each comes back once');
is($node->safe_psql('postgres', q{
	SELECT count(*), bool_and(payload::text::int > before)
	  FROM (SELECT payload, lag(payload::text::int, 1, 0) OVER (PARTITION BY partition ORDER BY message_offset) AS before
			  FROM queen.pop('work', 'later', 100000, auto_ack => true)) p
}), "$letters|t", 'a group that comes later gets the first copies only');

# A client's queue, cancelled and resumed.
my $client = IPC::Run::start(
	[ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', "SET application_name = 'run'", '-c', "CALL queen.redrive_in_steps(from_queue => 'dlq', per_second => 400)" ],
	'>', \my $out, '2>', \my $err, IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
$node->poll_query_until('postgres', "SELECT coalesce(sum(next_offset), 0) >= 100 FROM queen.partitions WHERE queue = 'home'");
$node->safe_psql('postgres', "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'run'");
$client->finish;
like($err, qr/canceling statement/, 'a run on a client\'s queue is cancelled');
is($node->safe_psql('postgres', q{
	SELECT (SELECT sum(behind) FROM queen.cursors WHERE queue = 'dlq' AND consumer_group = 'redrive')
		 + (SELECT sum(next_offset) FROM queen.partitions WHERE queue = 'home')
}), $letters, 'every message is pending or was sent back');
$node->safe_psql('postgres', "CALL queen.redrive_in_steps(from_queue => 'dlq', per_second => 1000000)");
is($node->safe_psql('postgres', q{
	SELECT count(*), count(DISTINCT n), bool_and(n > before)
	  FROM (SELECT (payload ->> 'data')::int AS n, lag((payload ->> 'data')::int, 1, 0) OVER (PARTITION BY partition ORDER BY message_offset) AS before
			  FROM queen.pop('home', 'g', 100000, auto_ack => true)) p
}), "$letters|$letters|t", 'each comes back once, in order');

# The standby.
$node->safe_psql('postgres', q{
	SELECT queen.push('work', '1', 'p');
	SELECT queen.reject(lease) FROM queen.pop('work', 'h', 1, 'p');
});
$node->wait_for_catchup($standby, 'replay', $node->lsn('write'));
is(sqlstate($standby, "SELECT source, target, redriven, why_not FROM queen.redrive('work', dry_run => true)"), 'work|work|f|dry_run', 'a dry run on a standby');
is(sqlstate($standby, "SELECT count(*) FROM queen.redrive(from_queue => 'dlq', dry_run => true)"), '0', 'and of a client\'s queue');
is(sqlstate($standby, "SELECT queen.purge_dead_letters('work', \"all\" => true, dry_run => true)"), '1', 'and of a purge');
is(sqlstate($standby, $_), '25006', $_)
  foreach ("SELECT queen.redrive('work')", "SELECT queen.redrive_ids('{1}')", "CALL queen.redrive_in_steps('work')", "SELECT queen.purge_dead_letters('work', \"all\" => true)");

done_testing();
