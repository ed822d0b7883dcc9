# Crashes under load: kill -9 of a backend, of the postmaster, and an immediate
# stop, while clients push, pop and acknowledge. The clients' own records say
# what was acknowledged to them. After recovery no such push is lost or there
# twice, the order holds, nothing that was acknowledged is delivered again, and
# what is neither is delivered.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QueenNode;
use Test::More;

my $pushers = 3;
my $consumers = 3;
my $node = queen_node('main', q{
	restart_after_crash = on
	checkpoint_timeout = 30s
});

$node->safe_psql('postgres', q{
	SELECT queen.create_queue('work', lease => '1 hour');
	SELECT queen.subscribe('work', 'g');
});

# Prints a line for each push that was acknowledged, some in a transaction of
# several, some in bulk.
sub pusher
{
	my ($round, $number) = @_;
	my $script = '';

	for my $i (1 .. 20000)
	{
		my $id = "$round-$number-$i";
		my $lane = 'p' . ($i % 5);

		if ($i % 7 == 0)
		{
			$script .= "SELECT 'pushed ' || string_agg(partition || ' ' || message_offset || ' ' || payload, ';')"
			  . " FROM queen.push_items('work', '[{\"partition\": \"$lane\", \"payload\": \"$id\"},"
			  . " {\"partition\": \"q\", \"payload\": \"$id+\"}]') i,"
			  . " LATERAL (SELECT CASE WHEN partition = 'q' THEN '$id+' ELSE '$id' END AS payload) l;\n";
		}
		elsif ($i % 11 == 0)
		{
			$script .= "BEGIN; SELECT message_offset AS o FROM queen.push('work', '\"$id\"', '$lane') \\gset\n"
			  . "COMMIT; \\echo pushed $lane :o $id\n";
		}
		else
		{
			$script .= "SELECT 'pushed ' || partition || ' ' || message_offset || ' $id'"
			  . " FROM queen.push('work', '\"$id\"', '$lane');\n";
		}
	}
	# COMMIT may fail: then its line must not be printed.
	return "\\set ON_ERROR_STOP on\n$script";
}

# Prints a line for what it got, and one more once that is acknowledged.
sub consumer
{
	return "\\set ON_ERROR_STOP on\n" . q{
SELECT coalesce(string_agg(DISTINCT lease::text, ','), '') AS leases,
	   coalesce(string_agg(partition || ' ' || message_offset, ';'), '') AS got
  FROM queen.pop('work', 'g', batch => 8, max_partitions => 2) \gset
\echo got :got
SELECT count(*) AS lost FROM queen.ack_leases(string_to_array(:'leases', ',')::uuid[]) WHERE state <> 'completed' \gset
\echo acked :lost :got
} x 20000;
}

my (%pushed, %got, %acked, $lost);

# Adds a client's record to what is known.
sub take_record
{
	my ($client) = @_;

	foreach my $line (split /\n/, $client->out)
	{
		if ($line =~ /^pushed (.*)$/)
		{
			foreach my $message (split /;/, $1)
			{
				my ($lane, $offset, $id) = split / /, $message;
				$pushed{$id} = "$lane $offset";
			}
		}
		elsif ($line =~ /^got (.*)$/)
		{
			$got{$_} = 1 foreach split /;/, $1;
		}
		elsif ($line =~ /^acked (\d+) (.*)$/)
		{
			$lost += $1;
			$acked{$_} = 1 foreach split /;/, $2;
		}
	}
}

my %crash = (
	backend => sub {
		my $pid = $node->safe_psql('postgres', q{
			SELECT pid FROM pg_stat_activity WHERE query LIKE '%queen.push%' AND pid <> pg_backend_pid() LIMIT 1
		});
		PostgreSQL::Test::Utils::system_or_bail('pg_ctl', 'kill', 'KILL', $pid);
	},
	postmaster => sub { $node->kill9 },
	immediate => sub { $node->stop('immediate') },
);

my $round = 0;
foreach my $kind ('backend', 'postmaster', 'immediate')
{
	my @clients;
	my $log = -s $node->logfile;
	my $before = $node->safe_psql('postgres', "SELECT sum(messages) FROM queen.partitions") || 0;

	$round++;
	push @clients, start_client($node, 'postgres', "pusher_$_", pusher($round, $_)) foreach 1 .. $pushers;
	push @clients, start_client($node, 'postgres', "consumer_$_", consumer()) foreach 1 .. $consumers;
	$node->poll_query_until('postgres', qq{
		SELECT sum(messages) > $before + 1500 AND (SELECT sum(committed) > $before / 2 + 500 FROM queen.cursors) FROM queen.partitions
	}) or die 'the clients do not work';
	$crash{$kind}->();
	$_->finish foreach @clients;

	if ($kind eq 'backend')
	{
		$node->wait_for_log(qr/all server processes terminated; reinitializing/, $log);
		$node->poll_query_until('postgres', 'SELECT true') or die 'no recovery';
	}
	else
	{
		start_again($node);
	}

	is(scalar(grep { $_->err =~ /server closed the connection|connection to server was lost|terminat|FATAL/ } @clients),
		scalar @clients, "$kind: every client was at work when it came");
	unlike($_->err, qr/ERROR:/, "$kind: no error before it") foreach @clients;

	take_record($_) foreach @clients;
	check($kind);
}

# What is there after recovery, against the clients' records.
sub check
{
	my ($kind) = @_;
	my %stored;
	my (@twice, @missing, @moved, %next, %last, @holes, @disorder);

	# A fresh group sees everything that is kept, in a transaction that is undone.
	foreach my $line (split /\n/, $node->safe_psql('postgres', q{
		BEGIN;
		SELECT partition || ' ' || message_offset || ' ' || (payload #>> '{}')
		  FROM queen.pop('work', 'checker', batch => 1000000, auto_ack => true);
		ROLLBACK;
	}))
	{
		my ($lane, $offset, $id) = split / /, $line;
		my ($run, $pusher, $i) = $id =~ /^(\d+)-(\d+)-(\d+)/;

		push @twice, $id if exists $stored{$id};
		$stored{$id} = "$lane $offset";
		push @holes, $line if $offset != ($next{$lane} // 0);
		$next{$lane} = $offset + 1;
		push @disorder, $line if ($last{"$lane $pusher"} // 0) > $run * 1e6 + $i;
		$last{"$lane $pusher"} = $run * 1e6 + $i;
	}
	foreach my $id (keys %pushed)
	{
		push @missing, $id if !exists $stored{$id};
		push @moved, $id if exists $stored{$id} && $stored{$id} ne $pushed{$id};
	}
	cmp_ok(scalar(keys %pushed), '>', 500 * $round, "$kind: there is something to check");
	is("@missing", '', "$kind: no acknowledged push is lost");
	is("@moved", '', "$kind: each is at the offset that its client was told");
	is("@twice", '', "$kind: none is there twice");
	is("@holes", '', "$kind: offsets have no holes");
	is("@disorder", '', "$kind: each pusher's messages are in order");
	cmp_ok(scalar(keys %stored) - scalar(keys %pushed), '<=', 2 * $pushers * $round,
		"$kind: at most what was under way came besides");

	# The crash did not end the leases: they are good, and go back when released.
	$node->safe_psql('postgres', q{SELECT queen.release(lease) FROM queen.leases});
	my (%again, @again, @neither);

	$again{$_} = 1 foreach split /\n/, $node->safe_psql('postgres', q{
		SELECT partition || ' ' || message_offset
		  FROM queen.pop('work', 'g', batch => 1000000, auto_ack => true)
	});
	foreach my $place (values %stored)
	{
		push @again, $place if $again{$place} && $acked{$place};
		push @neither, $place if !$again{$place} && !$got{$place};
	}
	cmp_ok(scalar(keys %acked), '>', 100, "$kind: some were acknowledged");
	is("@again", '', "$kind: nothing acknowledged is delivered again");
	is("@neither", '', "$kind: all the rest is delivered");
	$got{$_} = $acked{$_} = 1 foreach keys %again;
}

is($lost, 0, 'no consumer lost a lease');
is($node->safe_psql('postgres', "SELECT behind FROM queen.consumer_groups WHERE consumer_group = 'g'"), '0',
	'nothing is left behind');
is($node->safe_psql('postgres', "SELECT count(*) FROM queen.consumer_groups WHERE consumer_group = 'checker'"), '0',
	'the group that was undone is not there');

$node->stop;
done_testing();
