# Two-phase commit. A prepared transaction keeps the partitions it pushed to and
# the cursors it moved, over a restart too, until it is committed or rolled
# back; other partitions and groups go on.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QueenNode;
use Test::More;

my $node = queen_node('main', 'max_prepared_transactions = 10');
my $push = q{SELECT message_offset FROM queen.push('work', '"%s"', '%s')};
my $pop = q{SELECT string_agg(partition || message_offset || ':' || (payload #>> '{}') || ':' || delivery, ' ' ORDER BY partition, message_offset)
	FROM queen.pop('work', %s)};

# Asks with a lock timeout, so that a lock which is held shows as 55P03.
sub ask
{
	my ($sql, @values) = @_;

	return sqlstate($node, "SET lock_timeout = '200ms';\n" . sprintf($sql, @values) . ';');
}

# Runs statements in a transaction and prepares it.
sub prepare
{
	my ($name, @statements) = @_;
	my $answer = sqlstate($node, join(";\n", 'BEGIN', @statements, "PREPARE TRANSACTION '$name'") . ';');

	is($node->safe_psql('postgres', "SELECT count(*) FROM pg_prepared_xacts WHERE gid = '$name'"), '1',
		"$name is prepared");
	return $answer;
}

$node->safe_psql('postgres', q{
	SELECT queen.create_queue('work', lease => '1 hour');
	SELECT queen.push('work', '"first"', 'p');
	SELECT queen.subscribe('work', 'g');
	SELECT queen.subscribe('work', 'h');
});

# Push.
is(prepare('push', sprintf($push, 'prepared', 'p'), sprintf($push, 'prepared', 'new')), "1\n0",
	'a push is prepared');
is(ask($push, 'late', 'p'), '55P03', 'its partition waits');
is(ask($push, 'late', 'new'), '55P03', 'so does the one it made');
is(ask($push, 'other', 'q'), '0', 'another partition does not');
is(ask("SELECT queen.drop_queue('work', true)"), '55P03', 'the queue cannot be dropped');
is(ask($pop, "'g', auto_ack => true"), 'p0:first:1 q0:other:1', 'what is committed is popped');

$node->restart;
is(ask($push, 'late', 'p'), '55P03', 'its partition waits after a restart');
is(ask($push, 'late', 'new'), '55P03', 'so does the one it made');
is(ask($push, 'other', 'q'), '1', 'another partition does not');

# Whoever waits goes on at the commit, behind what was prepared.
my $waiter = session($node);
$waiter->send(sprintf($push, 'late', 'p'));
$node->poll_query_until('postgres', q{
	SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
}) or die 'nobody waits';
$node->safe_psql('postgres', "COMMIT PREPARED 'push'");
is($waiter->query("SELECT 'done'"), "2\ndone", 'the waiting push comes after it');
is(ask($pop, "'g', auto_ack => true"), 'new0:prepared:1 p1:prepared:1 p2:late:1 q1:other:1',
	'all is popped in order');

# Push, rolled back.
prepare('undone', sprintf($push, 'undone', 'p'), sprintf($push, 'undone', 'newer'));
$node->restart;
$node->safe_psql('postgres', "ROLLBACK PREPARED 'undone'");
is(ask($push, 'kept', 'p'), '3', 'the offset is given out again');
is(ask($push, 'kept', 'newer'), '0', 'in a partition that had to be made again too');

# Pop and ack.
my $popack = q{SELECT string_agg(partition || message_offset, ' ' ORDER BY partition, message_offset),
	(SELECT sum(messages) FROM queen.ack_leases(array_agg(lease)))
	FROM queen.pop('work', 'g', partition => 'p')};
is(prepare('ack', $popack), 'p3|1', 'pop and ack are prepared');
is(ask($pop, "'g', partition => 'p'"), '', 'a pop passes the partition');
is(ask($pop, "'g', auto_ack => true"), 'newer0:kept:1', 'and takes another one');
is(ask($pop, "'h', partition => 'p', batch => 1, auto_ack => true"), 'p0:first:1', 'another group reads it');
is(ask("SELECT queen.unsubscribe('work', 'g')"), '55P03', 'the group cannot be removed');
$node->restart;
is(ask($pop, "'g', partition => 'p'"), '', 'a pop passes the partition after a restart');
$node->safe_psql('postgres', "ROLLBACK PREPARED 'ack'");
is(prepare('ack', $popack), 'p3|1', 'after a rollback all is as before');
$node->restart;
$node->safe_psql('postgres', "COMMIT PREPARED 'ack'");
is(ask($pop, "'g'"), '', 'after the commit it is done');
is(ask("SELECT committed, has_lease FROM queen.cursors WHERE consumer_group = 'g' AND partition = 'p'"), '3|f',
	'and the cursor stands behind it');

# A lease that is handed out by a prepared transaction.
ask($push, 'leased', 'p');
my $lease_of = q{SELECT lease FROM queen.pop('work', 'g', partition => 'p')};
my $lease = prepare('lease', $lease_of);
is(ask("SELECT queen.ack('$lease')"), '55P03', 'a lease is not good before the commit');
$node->restart;
is(ask("SELECT queen.ack('$lease')"), '55P03', 'nor after a restart');
$node->safe_psql('postgres', "ROLLBACK PREPARED 'lease'");
is(ask("SELECT queen.ack('$lease')"), 'QN001', 'nor ever after a rollback');
my $other = prepare('lease', $lease_of);
$node->safe_psql('postgres', "COMMIT PREPARED 'lease'");
is(ask("SELECT queen.ack('$lease')"), 'QN001', 'not even when the cursor was leased anew');
is(ask("SELECT queen.ack('$other')"), '1', 'it is after a commit');

# A group, a queue and a purge.
prepare('group', q{SELECT queen.subscribe('work', 'fresh')}, q{SELECT queen.create_queue('soon')});
is(ask($pop, "'fresh'"), '55P03', 'a group that is prepared waits');
is(ask("SELECT queen.create_queue('soon')"), '55P03', 'a queue, too');
$node->restart;
$node->safe_psql('postgres', "COMMIT PREPARED 'group'");
is(ask($pop, "'fresh', partition => 'q', batch => 1"), 'q0:other:1', 'the group is there');
is(ask("SELECT queen.create_queue('soon')"), '42710', 'the queue, too');

is(prepare('purge', q{SELECT queen.purge('work')}), '9', 'a purge is prepared');
is(ask($push, 'late', 'p'), '55P03', 'pushes wait for it');
$node->restart;
$node->safe_psql('postgres', "COMMIT PREPARED 'purge'");
is(ask($push, 'late', 'p'), '5', 'offsets go on');
is(ask($pop, "'h', auto_ack => true"), 'p5:late:1', 'nothing older is left');

is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database <> 0}), '0',
	'no lock is left');

$waiter->quit;
$node->stop;
done_testing();
