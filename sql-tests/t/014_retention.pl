# Retention while clients push and pop, and a crash in the middle: whatever
# completed_retention removes, every group has had once and in order, and in the
# end everything is gone. Dump and restore of what retention keeps.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QueenNode;
use Test::More;

my $node = queen_node('main', "queen.naptime = 100ms\nrestart_after_crash = on");

$node->safe_psql('postgres', q{
	SELECT queen.create_queue('work', completed_retention => '1 ms', retention_bytes => 1000000000, drop_idle_partitions => '1 ms', dedup_window => '0');
	SELECT queen.subscribe('work', 'one'), queen.subscribe('work', 'two');
	CREATE TABLE got (consumer_group text, payload bigint, place bigint GENERATED ALWAYS AS IDENTITY);
	CREATE TABLE pushed (payload bigint GENERATED ALWAYS AS IDENTITY, lane int);
});

# A message and the row that it speaks of, in one transaction; lanes come and go.
my $push = $node->basedir . '/push.sql';
append_to_file($push, q{
\set lane random(1, 20)
BEGIN;
INSERT INTO pushed (lane) VALUES (:lane) RETURNING payload \gset
SELECT queen.push('work', to_jsonb(:payload), 'lane ' || :lane);
COMMIT;
});
# What was got is noted in the transaction that gets it.
my $pop = $node->basedir . '/pop.sql';
append_to_file($pop, q{
\set n random(1, 2)
INSERT INTO got SELECT CASE :n WHEN 1 THEN 'one' ELSE 'two' END, (payload #>> '{}')::bigint
  FROM queen.pop('work', CASE :n WHEN 1 THEN 'one' ELSE 'two' END, batch => 20, auto_ack => true);
});

sub load
{
	my ($seconds) = @_;
	my @clients;

	foreach my $file ($push, $pop)
	{
		my %client = (out => '', err => '');

		$client{run} = IPC::Run::start([ 'pgbench', '-n', '-f', $file, '-c', '2', '-T', $seconds, $node->connstr('postgres') ],
			'>', \$client{out}, '2>', \$client{err}, IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
		push @clients, \%client;
	}
	return @clients;
}

my @clients = load(4);
ok($node->poll_query_until('postgres', 'SELECT coalesce(sum(messages), 0) > 100 FROM queen.retention_history'), 'it removes while they run');
foreach my $client (@clients)
{
	$client->{run}->finish;
	is($client->{err} =~ /error|ERROR|abort/ ? $client->{err} : '', '', 'no client had an error');
}

# And with a crash in the middle.
@clients = load(30);
my $before = $node->safe_psql('postgres', 'SELECT sum(messages) FROM queen.retention_history');
ok($node->poll_query_until('postgres', "SELECT sum(messages) > $before + 100 FROM queen.retention_history"), 'it goes on');
$node->stop('immediate');
$_->{run}->finish foreach @clients;
$node->start;

# Everything is got, and goes, and at last the partitions.
$node->safe_psql('postgres', "INSERT INTO got SELECT '$_', (payload #>> '{}')::bigint FROM queen.pop('work', '$_', batch => 1000000, auto_ack => true)")
  foreach ('one', 'two');
ok($node->poll_query_until('postgres', q{SELECT count(*) = 0 FROM queen.segment}), 'all of it goes');
ok($node->poll_query_until('postgres', q{SELECT count(*) = 0 FROM queen.partition}), 'the partitions, too');
is($node->safe_psql('postgres', q{
	SELECT consumer_group, count(*) - count(DISTINCT payload) AS twice, count(DISTINCT payload) = (SELECT count(*) FROM pushed) AS all
	  FROM got GROUP BY 1 ORDER BY 1}), "one|0|t\ntwo|0|t", 'each group got each message once');
is($node->safe_psql('postgres', q{SELECT (SELECT count(*) FROM queen.cursor) + (SELECT count(*) FROM queen.partition_size)}), '0',
	'nothing is left of them');
is($node->safe_psql('postgres', q{SELECT sum(unread) FROM queen.retention_history}), '0', 'nothing unread was removed');
is($node->safe_psql('postgres', q{SELECT coalesce(max(failures), 0) FROM queen.worker_status}), '0', 'no step failed');
unlike(slurp_file($node->logfile), qr/deadlock detected/, 'nor was there a deadlock');

# What is kept of it goes through a dump: histories, counts and the stop, but not the state of the steps.
$node->safe_psql('postgres', q{
	DROP TABLE got, pushed;
	SELECT queen.worker_stop();
	SELECT queen.alter_queue('work', retention_bytes => 10);
	SELECT count(queen.push('work', to_jsonb(n), 'p')) FROM generate_series(1, 10) n;
	SELECT count(*) FROM queen.retain('work');
	CREATE DATABASE copy;
});
my $dump = $node->basedir . '/dump';
$node->command_ok([ 'pg_dump', '-f', $dump, $node->connstr('postgres') ], 'pg_dump');
$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('copy'), '-f', $dump ], 'restore');
foreach my $table ('partition', 'partition_size', 'retention_log', 'worker_switch')
{
	my $rows = "SELECT t::text FROM queen.$table t ORDER BY 1";

	isnt($node->safe_psql('postgres', $rows), '', "$table has rows");
	is($node->safe_psql('copy', $rows), $node->safe_psql('postgres', $rows), '... and they are back');
}
is($node->safe_psql('copy', 'SELECT count(*) FROM queen.worker_step'), '0', 'the state of the steps is not');
is($node->safe_psql('copy', 'SELECT DISTINCT not_running FROM queen.worker_status'), 'queen.worker_stop() was called', 'nor does the worker come');
is($node->safe_psql('copy', q{SELECT queen.worker_start(); SELECT message_offset FROM queen.push('work', '1', 'p')}), "\n10", 'offsets go on');
ok($node->poll_query_until('copy', q{SELECT count(*) > 0 FROM queen.worker_step}), 'until it is started');
$node->stop;
done_testing();
