# Crashes under fused pushes: kill -9 of the worker, of a caller and of the
# postmaster, an immediate stop, and a worker that is terminated. The clients'
# own records say what was acknowledged to them. After recovery each such
# message is there, once, at the offset that its client was told, in the order
# of its client; besides it at most what was under way.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QueenNode;
use Test::More;

my $clients = 12;
my $node = queen_node('main', q{
	restart_after_crash = on
	max_worker_processes = 16
});

$node->safe_psql('postgres', q{
	SELECT queen.create_queue('work');
	CREATE DATABASE other;
});
$node->safe_psql('other', q{
	CREATE EXTENSION queen;
	SELECT queen.create_queue('work');
});

# Which database a client works in.
sub database_of
{
	my ($number) = @_;

	return $number % 4 == 3 ? 'other' : 'postgres';
}

# What a client does: it pushes, and prints where each message went. Some clients
# have large messages, some of every call is inside a transaction.
sub pusher
{
	my ($round, $number) = @_;
	my $script = "\\set ON_ERROR_STOP on\n";

	for my $i (1 .. 30000)
	{
		my $id = "$round-$number-$i";
		my $lane = 'p' . ($i % 3);
		my $body = $number % 4 == 2 ? "rpad('$id ', 50000, 'x')" : "'$id'::text";
		my $push = "SELECT 'pushed ' || partition || ' ' || message_offset || ' $id'"
		  . " FROM queen.push_fused('work', to_jsonb($body), '$lane');\n";

		$script .= $i % 5 == 0 ? "BEGIN;\n${push}ROLLBACK;\n" : $push;
	}
	return $script;
}

my %pushed = (postgres => {}, other => {});

# Sends a signal to one of the server's processes.
sub signal
{
	my ($signal, $condition) = @_;
	my $pid = $node->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE $condition AND pid <> pg_backend_pid() LIMIT 1");

	PostgreSQL::Test::Utils::system_or_bail('pg_ctl', 'kill', $signal, $pid);
}

my $worker = "backend_type = 'queen fusion worker'";
my %crash = (
	'worker' => sub { signal('KILL', $worker) },
	'caller' => sub { signal('KILL', "query LIKE '%push_fused%'") },
	'postmaster' => sub { $node->kill9 },
	'immediate' => sub { $node->stop('immediate') },
	'fast' => sub { $node->stop('fast') },
);

# How many messages there are.
sub count_messages
{
	my ($database) = @_;

	return $node->safe_psql($database, 'SELECT coalesce(sum(messages), 0) FROM queen.partitions');
}

# What is there after recovery, against the clients' records.
sub check
{
	my ($kind, $database, $round) = @_;
	my $known = $pushed{$database};
	my (%stored, %next, %last, @twice, @missing, @moved, @holes, @disorder);

	foreach my $line (split /\n/, $node->safe_psql($database, q{
		BEGIN;
		SELECT partition || ' ' || message_offset || ' ' || split_part(payload #>> '{}', ' ', 1)
		  FROM queen.pop('work', 'checker', batch => 1000000, auto_ack => true);
		ROLLBACK;
	}))
	{
		my ($lane, $offset, $id) = split / /, $line;
		my ($run, $number, $i) = split /-/, $id;

		push @twice, $id if exists $stored{$id};
		$stored{$id} = "$lane $offset";
		push @holes, $line if $offset != ($next{$lane} // 0);
		$next{$lane} = $offset + 1;
		push @disorder, $line if ($last{"$lane $number"} // 0) > $run * 1e6 + $i;
		$last{"$lane $number"} = $run * 1e6 + $i;
	}
	foreach my $id (keys %$known)
	{
		push @missing, $id if !exists $stored{$id};
		push @moved, $id if exists $stored{$id} && $stored{$id} ne $known->{$id};
	}
	cmp_ok(scalar(keys %$known), '>', 100 * $round, "$kind: there is something to check in $database");
	is("@missing", '', '... no acknowledged message is lost');
	is("@moved", '', '... each is at the offset that its client was told');
	is("@twice", '', '... none is there twice');
	is("@holes", '', '... offsets have no holes');
	is("@disorder", '', '... each client\'s messages are in order');
	cmp_ok(scalar(keys %stored) - scalar(keys %$known), '<=', ($clients + 1) * $round,
		'... at most what was under way came besides');
}

my $round = 0;
foreach my $kind ('worker', 'caller', 'postmaster', 'immediate', 'fast')
{
	my $log = -s $node->logfile;
	my %before = map { $_ => count_messages($_) } keys %pushed;
	my %clients;

	$round++;
	$clients{$_} = start_client($node, database_of($_), "client_$_", pusher($round, $_)) foreach 1 .. $clients;
	foreach my $database (keys %pushed)
	{
		$node->poll_query_until($database, "SELECT sum(messages) > $before{$database} + 500 FROM queen.partitions")
		  or die 'the clients do not work';
		# On the way the worker is asked to leave, which no client may notice.
		$node->safe_psql($database, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE $worker");
	}
	$before{$_} = count_messages($_) foreach keys %pushed;
	foreach my $database (keys %pushed)
	{
		$node->poll_query_until($database, "SELECT sum(messages) > $before{$database} + 200 FROM queen.partitions")
		  or die 'the clients do not go on';
	}
	unlike($_->err, qr/\S/, "$kind: no client noticed that the worker was changed") foreach values %clients;
	$crash{$kind}->();
	$_->finish foreach values %clients;

	if ($kind eq 'worker' || $kind eq 'caller')
	{
		$node->wait_for_log(qr/all server processes terminated; reinitializing/, $log);
		$node->poll_query_until('postgres', 'SELECT true') or die 'no recovery';
	}
	else
	{
		start_again($node);
	}
	is(scalar(grep { $_->err =~ /server closed the connection|connection to server was lost|terminat|FATAL/ } values %clients),
		$clients, "$kind: every client was at work when it came");
	unlike($_->err, qr/ERROR:/, "$kind: no error before it") foreach values %clients;

	foreach my $number (keys %clients)
	{
		my $out = $clients{$number}->out;

		$pushed{ database_of($number) }->{$2} = $1 while $out =~ /^pushed (\S+ \S+) (\S+)$/mg;
	}
	check($kind, $_, $round) foreach keys %pushed;
	is($node->safe_psql('postgres', "SELECT count(*) FROM queen.push_fused('work', '\"0-0-$round\"', 'new-$round')"), '1',
		"$kind: the next call finds a worker");
}

$node->stop;
done_testing();
