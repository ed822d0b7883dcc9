# The hints of which partitions are ready: what overflows, what a restart, a
# crash, a rollback, a prepared transaction and a promotion leave behind. Nothing
# is hidden, nothing is handed out twice, no partition starves. The interval of the
# looks at all tables is so long that they help in no case.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QueenNode;
use Test::More;

my $tiny = q{
	max_prepared_transactions = 10
	max_connections = 250
	queen.reconcile_interval = '1h'
	queen.ready_queues = 2
	queen.ready_groups = 3
	queen.ready_ring = 16
	queen.ready_list = 16
	restart_after_crash = on
};
my $node = queen_node('main', $tiny, allows_streaming => 1);

# What pops answer until nothing is left: how many messages, and the order kept.
my $drain = q{
	CREATE TABLE got (id bigserial, partition text, message_offset bigint);
	CREATE FUNCTION drain(queue text, consumer_group text, batch int, max_partitions int) RETURNS bigint LANGUAGE plpgsql AS $$
	DECLARE
		n bigint;
		total bigint := 0;
	BEGIN
		LOOP
			INSERT INTO got (partition, message_offset)
				SELECT p.partition, p.message_offset
				  FROM queen.pop(drain.queue, drain.consumer_group, drain.batch, max_partitions => drain.max_partitions, auto_ack => true) p;
			GET DIAGNOSTICS n = ROW_COUNT;
			total := total + n;
			EXIT WHEN n = 0;
		END LOOP;
		RETURN total;
	END $$;
	CREATE PROCEDURE drain_in_steps(queue text, consumer_group text, batch int, max_partitions int, INOUT total bigint DEFAULT 0) LANGUAGE plpgsql AS $$
	DECLARE
		n bigint;
	BEGIN
		total := 0;
		LOOP
			INSERT INTO got (partition, message_offset)
				SELECT p.partition, p.message_offset
				  FROM queen.pop(drain_in_steps.queue, drain_in_steps.consumer_group, drain_in_steps.batch, max_partitions => drain_in_steps.max_partitions, auto_ack => true) p;
			GET DIAGNOSTICS n = ROW_COUNT;
			COMMIT;
			total := total + n;
			EXIT WHEN n = 0;
		END LOOP;
	END $$;
};
$node->safe_psql('postgres', $drain);
$node->safe_psql('postgres', q{
	SELECT queen.create_queue('q', lease => '1 hour');
	SELECT queen.create_queue('r', lease => '1 hour');
	SELECT queen.subscribe('q', g) FROM unnest(array['g', 'h', 'i', 'j']) g;
});

# Pushes n messages to each of so many partitions, each push its own transaction.
sub push_each
{
	my ($queue, $partitions, $messages, $on) = @_;

	($on // $node)->safe_psql('postgres', qq{
		DO \$\$
		BEGIN
			FOR n IN 1 .. $partitions LOOP
				PERFORM queen.push_batch('$queue', (SELECT jsonb_agg(i) FROM generate_series(1, $messages) i), 'p' || n);
				COMMIT;
			END LOOP;
		END \$\$});
}

sub in_steps
{
	my ($group, $batch, $partitions, $on) = @_;

	return ($on // $node)->safe_psql('postgres', "CALL drain_in_steps('q', '$group', $batch, $partitions)");
}

# More partitions than the list and the ring hold, by several groups, more than there are slots.
push_each('q', 100, 3);
is(in_steps('g', 1, 1), 300, 'all comes out of a list that is too small, one by one');
is(in_steps('h', 7, 2), 300, 'for another group, in batches');
is(in_steps('i', 1000, 1000), 300, 'all at once');
is(in_steps('j', 10, 3), 300, 'for a group without a slot, too');
is($node->safe_psql('postgres', q{SELECT count(*), count(DISTINCT (partition, message_offset)) FROM got}), '1200|300', 'nothing twice');

# The ring runs over while nobody reads.
push_each('q', 100, 1);
is(in_steps('g', 1, 1), 100, 'all comes after the ring ran over');
push_each('q', 10, 1) foreach (1 .. 5);
is(in_steps('g', 1, 1), 50, 'a ring that is touched often by few does not');
$node->safe_psql('postgres', q{SELECT drain('q', 'g', 1, 1)});

# No partition starves: one is pushed to without end, the others get their turn.
push_each('q', 40, 2);
$node->safe_psql('postgres', q{
	TRUNCATE got;
	DO $$
	BEGIN
		FOR n IN 1 .. 120 LOOP
			PERFORM queen.push('q', '0', 'p1');
			COMMIT;
			INSERT INTO got (partition, message_offset)
				SELECT p.partition, p.message_offset FROM queen.pop('q', 'g', 1, max_partitions => 1, auto_ack => true) p;
			COMMIT;
		END LOOP;
	END $$});
is($node->safe_psql('postgres', q{SELECT count(DISTINCT partition) FROM got}), 40, 'a busy partition does not starve others');
in_steps('g', 100, 100);

# Leased and failing ones do not stand in the way, nor are they lost.
push_each('q', 60, 1);
is($node->safe_psql('postgres', q{SELECT count(*) FROM queen.pop('q', 'g', 40)}), 40, 'forty are leased');
is(in_steps('g', 1, 1), 20, 'the others come');
is($node->safe_psql('postgres', q{SELECT sum(queen.release(lease)) FROM queen.leases WHERE consumer_group = 'g'}), 40, 'they are released');
is(in_steps('g', 1, 1), 40, 'and come');
push_each('q', 60, 1);
$node->safe_psql('postgres', q{SELECT count(*) FROM queen.pop('q', 'g', 60, lease_time => '300 ms')});
is($node->safe_psql('postgres', q{SELECT count(*) FROM queen.pop('q', 'g', 1, wait => '60 s', auto_ack => true)}), 1, 'a lease that expires');
$node->poll_query_until('postgres', q{SELECT count(*) FROM queen.leases WHERE NOT expired}, '0');
is(in_steps('g', 1, 1), 59, 'and all others, more than the list holds');

# Within one transaction: what it pushed, took, gave back.
is($node->safe_psql('postgres', q{
	BEGIN;
	SELECT queen.push('q', '1', 'own');
	SELECT drain('q', 'g', 1, 1);
	SAVEPOINT s;
	SELECT queen.push('q', '1', 'own');
	SELECT count(*) FROM queen.pop('q', 'g');
	ROLLBACK TO s;
	SELECT count(*) FROM queen.pop('q', 'g');
	SELECT queen.push('q', '1', 'own');
	SELECT count(*) FROM queen.pop('q', 'g');
	ROLLBACK;
	SELECT count(*) FROM queen.pop('q', 'g');
}), "(own,0,queued,)\n1\n(own,1,queued,)\n1\n0\n(own,1,queued,)\n1\n0", 'a transaction finds its own');

# What a rolled back pop had taken comes back, also by a failed statement.
push_each('q', 3, 1);
is($node->safe_psql('postgres', q{BEGIN; SELECT count(*) FROM queen.pop('q', 'g'); ROLLBACK}), 3, 'three are taken');
is(sqlstate($node, q{SELECT count(*) / 0 FROM queen.pop('q', 'g');}), '22012', 'and again');
is(in_steps('g', 1, 1), 3, 'and come back twice');

# Two-phase commit: a push, a pop that is committed, one that is rolled back.
$node->safe_psql('postgres', q{BEGIN; SELECT queen.push('q', '1', 'a'); PREPARE TRANSACTION 'p'});
is(in_steps('g', 1, 1), 0, 'nothing is there while it is prepared');
$node->safe_psql('postgres', q{COMMIT PREPARED 'p'});
is($node->safe_psql('postgres', q{BEGIN; SELECT count(*) FROM queen.pop('q', 'g', auto_ack => true); PREPARE TRANSACTION 'p'}), 1, 'it is, then');
is(in_steps('g', 1, 1), 0, 'a prepared pop keeps it');
$node->safe_psql('postgres', q{ROLLBACK PREPARED 'p'});
is(in_steps('g', 1, 1), 1, 'and gives it back');

# A seek, of one partition and of all; a group made anew; a queue made anew.
is($node->safe_psql('postgres', q{SELECT sum(messages) FROM queen.seek('q', 'g', partition => 'p7', by => -1)}), 1, 'one back');
is(in_steps('g', 1, 1), 1, 'one comes');
$node->safe_psql('postgres', q{SELECT queen.seek('q', 'g', by => -1)});
is(in_steps('g', 1, 1), $node->safe_psql('postgres', q{SELECT count(*) FROM queen.partitions WHERE queue = 'q'}), 'one of each comes');
my $all = $node->safe_psql('postgres', q{SELECT sum(messages) FROM queen.partitions WHERE queue = 'q'});
$node->safe_psql('postgres', q{SELECT queen.unsubscribe('q', 'g')});
is(in_steps('g', 10, 10), $all, 'all comes to a group that is made anew');
$node->safe_psql('postgres', q{SELECT queen.drop_queue('q', true), queen.create_queue('q')});
push_each('q', 5, 1);
is(in_steps('g', 1, 1), 5, 'a queue made anew has its own');
$node->safe_psql('postgres', q{
	DROP EXTENSION queen;
	CREATE EXTENSION queen;
	SELECT queen.create_queue('q', lease => '1 hour');
});
is(in_steps('g', 1, 1), 0, 'an extension made anew has nothing');
push_each('q', 50, 2);
is(in_steps('g', 1, 1), 100, 'then what is pushed, under ids that were used before');

# A backlog over a restart, and over a crash.
push_each('q', 50, 2);
$node->restart;
is(in_steps('g', 1, 1), 100, 'a backlog is found after a restart');
push_each('q', 50, 2);
is($node->safe_psql('postgres', q{SELECT count(*) FROM queen.pop('q', 'g', 30)}), 30, 'some is leased');
$node->stop('immediate');
$node->start;
is(in_steps('g', 1, 1), 70, 'the rest is found after a crash');
is($node->safe_psql('postgres', q{SELECT sum(queen.ack(lease)) FROM queen.leases}), 30, 'and the leases are good');

# Many sessions, a small memory: each message once, in order, and none is left.
$node->safe_psql('postgres', 'TRUNCATE got');
my $script = $node->basedir . '/flow.sql';
append_to_file($script, q{
\set n random(1, 60)
\set m random(1, 4)
SELECT queen.push_batch('q', '[1, 2, 3]', 'p' || :n);
INSERT INTO got (partition, message_offset) SELECT partition, message_offset FROM queen.pop('q', 'flow', :m, max_partitions => 2, auto_ack => true);
});
$node->command_checks_all(
	[ 'pgbench', '-n', '-c', 200, '-j', 4, '-t', 20, '-f', $script, $node->connstr('postgres') ],
	0, [qr{4000/4000}], [qr/^(?!.*(ERROR|FATAL|aborted))/s], '200 sessions push and pop');
in_steps('flow', 50, 20);
is($node->safe_psql('postgres', q{
	SELECT count(*) = (SELECT sum(next_offset) FROM queen.partitions WHERE queue = 'q'), count(*) = count(DISTINCT (partition, message_offset)) FROM got
}), 't|t', 'each message came once, and none is left');

# A standby that is promoted knows nothing and finds all.
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
push_each('q', 50, 1);
$node->safe_psql('postgres', q{SELECT count(*) FROM queen.pop('q', 'g', 10, auto_ack => true)});
$node->wait_for_catchup($standby, 'replay', $node->lsn('write'));
is(sqlstate($standby, q{CALL queen.wait('q', 'g', '1 s');}), '25006', 'a standby does not wait');
my $left = $node->safe_psql('postgres', q{SELECT behind FROM queen.consumer_groups WHERE consumer_group = 'g'});
$node->stop('immediate');
$standby->promote;
$standby->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()') or die 'no promotion';
is(in_steps('g', 1, 1, $standby), $left, 'after a promotion the backlog is found');
push_each('q', 5, 1, $standby);
is(in_steps('g', 1, 1, $standby), 5, 'and what is pushed then');

# Without any memory for it all goes on.
$standby->append_conf('postgresql.conf', "queen.ready_queues = 0\nqueen.ready_groups = 0");
$standby->restart;
push_each('q', 50, 1, $standby);
is(in_steps('g', 1, 1, $standby), 50, 'without memory pops scan');
my $waiter = session($standby);
$waiter->send(q{CALL queen.wait('q', 'g', '100 s')});
$standby->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE query ~ '^CALL' AND wait_event_type = 'Extension'}) or die;
push_each('q', 1, 1, $standby);
is($waiter->query("SELECT 'woken'"), "t\nwoken", 'and waiters are woken');
$waiter->quit;
$standby->stop;

# A pop that its bytes stopped leaves what it has looked at to the next.
$node->start;
$node->safe_psql('postgres', q{
	SELECT queen.create_queue('heavy');
	SELECT count(*) FROM queen.pop('heavy', 'g');
	SELECT queen.push('heavy', to_jsonb(repeat('x', 1000)), p) FROM unnest(array['a', 'b', 'c']) p;
});
my $light = q{SELECT count(*) FROM queen.pop('heavy', 'g', max_bytes => 1500, max_partitions => 10)};
is($node->safe_psql('postgres', $light), '1', 'of what is too large for the rest');
is($node->safe_psql('postgres', $light), '1', 'each pop takes one');
is($node->safe_psql('postgres', $light), '1', 'and nothing is forgotten');
$node->stop;

# What is written to the tables by hand is found within the interval.
$node = queen_node('interval', "queen.reconcile_interval = '500ms'");
$node->safe_psql('postgres', q{
	SELECT queen.create_queue('q', lease => '1 hour');
	SELECT queen.push('q', '1', 'p');
	SELECT count(*) FROM queen.pop('q', 'g');
	SELECT count(*) FROM queen.pop('q', 'g');
	DELETE FROM queen.cursor;
});
$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM queen.pop('q', 'g', auto_ack => true)}) or die;
$waiter = session($node);
$waiter->send(q{CALL queen.wait('q', 'g', '100 s')});
$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE query ~ '^CALL' AND wait_event_type = 'Extension'}) or die;
$node->safe_psql('postgres', 'DELETE FROM queen.cursor');
is($waiter->query("SELECT 'found'"), "t\nfound", 'so it is by who waits');
$waiter->quit;
$node->stop;
done_testing();
