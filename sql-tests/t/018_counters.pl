# Counters: what is counted when, and for whom; they outlive sessions, and go
# with what they count. Without preloading there are none, and that is said.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QueenNode;
use Test::More;

my $node = queen_node('main', "max_prepared_transactions = 10\nqueen.counter_entries = 6");

sub queue_stats
{
	my ($queue) = @_;

	return $node->safe_psql('postgres', qq{
		SELECT pushes, messages, bytes, pops, empty_pops, delivered, acks, nacks, dead_letters, expiries
		  FROM queen.stat_queues WHERE queue = '$queue'});
}

sub group_stats
{
	my ($group) = @_;

	return $node->safe_psql('postgres', qq{
		SELECT pops, empty_pops, messages, bytes, acks, nacks, dead_letters, expiries
		  FROM queen.stat_groups WHERE queue = 'q' AND consumer_group = '$group'});
}

$node->safe_psql('postgres', q{SELECT queen.create_queue('q', retry_delay => '0', retry_limit => 0)});
is(queue_stats('q'), '0|0|0|0|0|0|0|0|0|0', 'a new queue begins at 0');

$node->safe_psql('postgres', q{
	SELECT queen.push_batch('q', '[11, 22, 33]', 'p');
	SELECT queen.push_items('q', '[{"payload": 1, "partition": "p"}, {"payload": 2, "partition": "r"}]');
});
is(queue_stats('q'), '2|5|8|0|0|0|0|0|0|0', 'calls, messages and bytes of pushes');
$node->safe_psql('postgres', q{
	BEGIN;
	SELECT queen.push('q', '1', 'p');
	SAVEPOINT a;
	SELECT queen.push('q', '1', 'p');
	ROLLBACK TO a;
	SAVEPOINT b;
	SELECT queen.push('q', '1', 'p');
	RELEASE b;
	COMMIT;
	BEGIN;
	SELECT queen.push('q', '1', 'p');
	ROLLBACK;
});
is(queue_stats('q'), '4|7|10|0|0|0|0|0|0|0', 'what was rolled back is not counted');
$node->safe_psql('postgres', q{
	BEGIN;
	SELECT queen.push('q', '1', 'p');
	PREPARE TRANSACTION 'p';
});
is(queue_stats('q'), '5|8|11|0|0|0|0|0|0|0', 'what is prepared counts when it is prepared');
$node->safe_psql('postgres', q{COMMIT PREPARED 'p'});
is(queue_stats('q'), '5|8|11|0|0|0|0|0|0|0', 'and not again');
$node->safe_psql('postgres', q{
	SELECT queen.create_queue('ids', dedup_window => '1 hour');
	SELECT queen.push_items('ids', '[{"payload": 1, "transactionId": "a"}, {"payload": 2, "transactionId": "a"}, {"payload": 3, "transactionId": "b"}]');
	SELECT queen.push('ids', '1', transaction_id => 'a');
});
is(queue_stats('ids'), '2|2|2|0|0|0|0|0|0|0', 'a duplicate is a call, no message');
$node->safe_psql('postgres', q{SELECT queen.drop_queue('ids', true)});

# p has 7 messages, r has one.
$node->safe_psql('postgres', q{
	SELECT count(*) FROM queen.pop('q', 'g', 2, partition => 'p');
	SELECT sum(queen.ack_messages(lease, '{0}')) FROM queen.leases;
	SELECT queen.nack(lease) FROM queen.leases;
	SELECT count(*) FROM queen.pop('q', 'g', 1, partition => 'p');
	SELECT sum(queen.ack(lease)) FROM queen.leases;
});
is(group_stats('g'), '2|0|3|6|2|1|1|0', 'pops, messages, bytes, acks, a nack that made a dead letter');
$node->safe_psql('postgres', q{
	SELECT count(*) FROM queen.pop('q', 'g', 1, partition => 'p', lease_time => '1 us');
	SELECT count(*) FROM queen.pop('q', 'g', 100, auto_ack => true);
});
is(group_stats('g'), '4|0|9|12|7|1|1|1', 'an expiry; auto_ack acknowledges what it hands out');
$node->safe_psql('postgres', q{
	BEGIN;
	SELECT count(*) FROM queen.pop('q', 'g');
	ROLLBACK;
	BEGIN;
	SELECT count(*) FROM queen.seek('q', 'g', to_beginning => true);
	SELECT count(*) FROM queen.pop('q', 'g', auto_ack => true);
	ROLLBACK;
});
is(group_stats('g'), '5|1|9|12|7|1|1|1', 'an empty pop counts at once, a full one when it commits');
is(queue_stats('q'), '5|8|11|5|1|9|7|1|1|1', 'the queue has the sums of its groups');
$node->safe_psql('postgres', q{SELECT count(*) FROM queen.pop('q', 'h', 3, partition => 'p', lease_time => '1 h'); SELECT sum(queen.ack(lease)) FROM queen.leases});
is(queue_stats('q'), '5|8|11|6|1|12|10|1|1|1', 'of another one, too');

# Who sees and resets them.
$node->safe_psql('postgres', q{
	CREATE ROLE stranger;
	SELECT queen.create_queue('other');
	SELECT queen.push('other', '1');
});
is($node->safe_psql('postgres', q{
	SET ROLE stranger;
	SELECT (SELECT count(*) FROM queen.stat_queues), (SELECT count(*) FROM queen.stat_groups),
		(SELECT c IS NULL FROM queen._counters(1, 0) c);
	SELECT queen.reset_stats();
}), "0|0|t\n", 'a stranger sees nothing');
is(sqlstate($node, q{SET ROLE stranger; SELECT queen.reset_stats('q');}), '42501', 'nor may he reset it');
is(queue_stats('other'), '1|1|1|0|0|0|0|0|0|0', 'and has not');
is(sqlstate($node, q{SELECT queen.reset_stats(NULL);}), '22004', 'NULL is no queue');
is(sqlstate($node, q{SELECT queen.reset_stats('nowhere');}), '42704', 'nor is what is not there');
$node->safe_psql('postgres', q{SELECT queen.reset_stats('q')});
is(queue_stats('q'), '0|0|0|0|0|0|0|0|0|0', 'a reset is one of the queue');
is(queue_stats('other'), '1|1|1|0|0|0|0|0|0|0', 'not of another');
is($node->safe_psql('postgres', q{SELECT since > clock_timestamp() - interval '1 hour' FROM queen.stat_queues WHERE queue = 'q'}), 't', 'it says since when');
$node->safe_psql('postgres', q{SELECT queen.reset_stats()});
is(queue_stats('other'), '0|0|0|0|0|0|0|0|0|0', 'or of all');

# They go with what they count; ids that come again begin at 0.
$node->safe_psql('postgres', q{SELECT queen.push('q', '1'); SELECT queen.drop_queue('q', true); SELECT queen.drop_queue('other', true)});
$node->safe_psql('postgres', q{DROP EXTENSION queen; CREATE EXTENSION queen; SELECT queen.create_queue('q')});
is(queue_stats('q'), '0|0|0|0|0|0|0|0|0|0', 'an extension made anew begins at 0');

# Six entries and no more.
$node->safe_psql('postgres', q{
	SELECT queen.create_queue('q' || n) FROM generate_series(1, 8) n;
	SELECT queen.push('q' || n, '1') FROM generate_series(1, 8) n;
});
is($node->safe_psql('postgres', q{SELECT count(pushes), count(*) FROM queen.stat_queues WHERE queue <> 'q'}), '6|8', 'what has no room is not counted, and that is said');
$node->safe_psql('postgres', q{SELECT queen.drop_queue('q1', true)});
$node->safe_psql('postgres', q{SELECT queen.push('q8', '1')});
is(queue_stats('q8'), '1|1|1|0|0|0|0|0|0|0', 'a queue that goes makes room');

$node->append_conf('postgresql.conf', "shared_preload_libraries = ''");
$node->restart;
is($node->safe_psql('postgres', q{SELECT count(pushes), count(*) > 0 FROM queen.stat_queues}), '0|t', 'without preloading nothing is counted');
is(sqlstate($node, q{SELECT queen.reset_stats();}), '55000', 'and nothing can be reset');
$node->stop;
done_testing();
