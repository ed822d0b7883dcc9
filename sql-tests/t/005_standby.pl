# A streaming standby: its views can be read, every verb that writes is refused
# with 25006; once promoted, offsets and cursors go on and leases are good.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QueenNode;
use Test::More;

my $primary = queen_node('primary', '', allows_streaming => 1);
my $standby = PostgreSQL::Test::Cluster->new('standby');

$primary->backup('base');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;

$primary->safe_psql('postgres', q{
	SELECT queen.create_queue('work', retry_delay => '0 s', lease => '1 hour', retry_limit => 0);
	SELECT queen.push_batch('work', '["p0", "p1", "p2", "p3"]', 'p');
	SELECT queen.push_batch('work', '["q0", "q1"]', 'q');
	SELECT queen.subscribe('work', 'timed', 'timestamp', now() - interval '1 hour');
	SELECT queen.ack(lease, 0) FROM queen.pop('work', 'g', partition => 'p', batch => 2) LIMIT 1;
	SELECT queen.nack(lease) FROM queen.pop('work', 'g', partition => 'q', batch => 1);
});
my $waiting = $primary->safe_psql('postgres', q{
	SELECT scheduled_id FROM queen.push('work', '"later"', 'd', 'id 1', delay => '1 hour')
});
$primary->safe_psql('postgres', q{
	SELECT count(*) FROM queen.push_items('work', (SELECT jsonb_agg(jsonb_build_object('payload', n, 'partition', 'ids', 'transactionId', 'id ' || n)) FROM generate_series(1, 100) n));
	SELECT count(*) FROM queen.pop('work', 'g', partition => 'ids', auto_ack => true);
	SELECT count(*) FROM queen.pop('work', 'timed', partition => 'ids', auto_ack => true);
});
my $lease = $primary->safe_psql('postgres', q{SELECT lease FROM queen.leases});
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('write'));

# The views show what they show on the primary, ages left out.
my %columns = (
	consumer_groups => 'queue, consumer_group, partitions, behind, leased, oldest_at',
	dead_letters => 'dead_letter_id, queue, partition, consumer_group, message_offset, payload, reason, dead_at');
foreach my $view ('queues', 'partitions', 'cursors', 'consumer_groups', 'leases', 'dead_letters', 'scheduled_messages')
{
	my $columns = $columns{$view} // '*';
	my $sql = "SELECT $columns FROM queen.$view ORDER BY 1, 2, 3";
	my $there = $primary->safe_psql('postgres', $sql);

	isnt($there, '', "there is something in $view");
	is($standby->safe_psql('postgres', $sql), $there, "$view can be read on the standby");
}
is($standby->safe_psql('postgres', q{
	SELECT behind, leased FROM queen.consumer_groups ORDER BY consumer_group
}), "4|1\n6|0", 'with the right numbers');

# Nothing is written there.
my @verbs = (
	q{queen.create_queue('other')},
	q{queen.alter_queue('work', retry_limit => 1)},
	q{queen.reset_queue_option('work', 'lease')},
	q{queen.pause_queue('work')},
	q{queen.resume_queue('work')},
	q{queen.purge('work')},
	q{queen.drop_queue('work')},
	q{queen.push('work', '1')},
	q{queen.push('unknown', '1')},
	q{queen.push('work', '1', delay => '1 hour')},
	qq{queen.cancel_scheduled($waiting)},
	qq{queen.reschedule($waiting, '0')},
	q{queen.deliver_scheduled('work')},
	q{queen.purge_dedup('work')},
	q{queen.push_batch('work', '[1]')},
	q{queen.push_items('work', '[]')},
	q{queen.push_fused('work', '1')},
	q{queen.pop('work', 'g')},
	q{queen.pop('work', 'g', auto_ack => true)},
	q{queen.subscribe('work', 'h')},
	q{queen.unsubscribe('work', 'g')},
	qq{queen.ack('$lease')},
	qq{queen.ack_messages('$lease', '{1}')},
	qq{queen.ack_leases('{$lease}')},
	qq{queen.nack('$lease')},
	qq{queen.reject('$lease')},
	qq{queen.release('$lease')},
	qq{queen.renew('$lease')});

foreach my $verb (@verbs)
{
	my ($name) = $verb =~ /(\w+)\(/;

	is(sqlstate($standby, "SELECT $verb"), '25006', "$name on the standby");
}
is(sqlstate($primary, "BEGIN READ ONLY;\nSELECT queen.push('work', '1');"), '25006',
	'the same in a read-only transaction');

# What has not committed on the primary when it goes is not there.
my $open = session($primary);
$open->query('BEGIN');
$open->query(q{SELECT queen.push('work', '"open"', 'p')});
$primary->safe_psql('postgres', q{SELECT queen.push('work', '"last"', 'q')});
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('write'));
$primary->stop('immediate');
$standby->promote;
$standby->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()') or die 'no promotion';

is($standby->safe_psql('postgres', q{
	SELECT partition, message_offset FROM queen.push('work', '"after"', 'p')
	UNION ALL SELECT partition, message_offset FROM queen.push('work', '"after"', 'q')
	UNION ALL SELECT partition, message_offset FROM queen.push('work', '"after"', 'new')
}), "p|4\nq|3\nnew|0", 'offsets go on');
is($standby->safe_psql('postgres', qq{SELECT queen.renew('$lease', '2 hours') > clock_timestamp()}), 't',
	'the lease of before is good');
is($standby->safe_psql('postgres', q{
	SELECT partition, message_offset, payload #>> '{}' FROM queen.pop('work', 'g', partition => 'p')
}), '', 'and keeps others off');
is($standby->safe_psql('postgres', qq{SELECT queen.ack('$lease')}), '1', 'it can be acknowledged');
is($standby->safe_psql('postgres', q{
	SELECT string_agg(partition || message_offset || ':' || (payload #>> '{}') || ':' || delivery, ' ' ORDER BY partition, message_offset)
	  FROM queen.pop('work', 'g', auto_ack => true)
}), 'new0:after:1 p2:p2:1 p3:p3:1 p4:after:1 q1:q1:1 q2:last:1 q3:after:1', 'cursors go on');
is($standby->safe_psql('postgres', q{
	SELECT count(*), count(DISTINCT partition_id) FROM queen.partition
}), '5|5', 'new ids are new');
is($standby->safe_psql('postgres', q{
	SELECT status, message_offset FROM queen.push('work', '1', 'ids', 'id 77')
	UNION ALL SELECT status, message_offset FROM queen.push('work', '1', 'ids', 'new')
}), "duplicate|76\nqueued|100", 'transaction ids are remembered');
is($standby->safe_psql('postgres', qq{
	SELECT status, scheduled_id = $waiting FROM queen.push('work', '1', 'd', 'id 1');
	SELECT queen.reschedule($waiting, '0') IS NOT NULL;
	SELECT message_offset, payload FROM queen.pop('work', 'g', partition => 'd');
}), qq(duplicate|t\nt\n0|"later"), 'a delayed message comes');
is($standby->safe_psql('postgres', q{SELECT message_offset, reason FROM queen.dead_letters}), '0|failed',
	'the dead letter is there');
is($standby->safe_psql('postgres', q{SELECT message_offset FROM queen.push_fused('work', '"fused"', 'p')}), '5',
	'a fused push finds a worker');

$open->{psql}{run}->finish;
$standby->stop;
done_testing();
