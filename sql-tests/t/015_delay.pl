# Delayed messages and the worker: with an hour between two visits, a short delay
# is told to the launcher, also by COMMIT PREPARED, and a long one is planned, and no
# pop is needed. A crash neither loses nor doubles a message.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QueenNode;
use Test::More;

my $node = queen_node('main', q{
	queen.naptime = 1h
	max_prepared_transactions = 2
});

# Waits until the log of a queue holds so many messages, without a pop.
sub wait_for_messages
{
	my ($queue, $count) = @_;

	return $node->poll_query_until('postgres', "SELECT coalesce(sum(next_offset), 0) = $count FROM queen.partitions WHERE queue = '$queue'");
}

$node->safe_psql('postgres', q{
	SELECT queen.create_queue('late');
	SELECT queen.push('late', '1', 'p', delay => '100 ms');
});
ok(wait_for_messages('late', 1), 'a message with a short delay is moved');
$node->safe_psql('postgres', q{
	SELECT queen.push('late', n::text, 'p', delay => make_interval(secs => 1.5 + n / 1000.0)) FROM generate_series(2, 100) n;
});
ok(wait_for_messages('late', 100), 'so are many, each in its time');
is($node->safe_psql('postgres', q{
	SELECT count(*), bool_and(payload::text::int = message_offset + 1) FROM queen.read('late', 'p', 0, 1000)
}), '100|t', 'in order');
$node->safe_psql('postgres', q{
	SELECT queen.reschedule(scheduled_id, delay => '10 ms') FROM queen.push('late', '101', 'p', delay => '1 day');
});
ok(wait_for_messages('late', 101), 'one that was put forward is moved');

# That of a prepared transaction is told when it is committed.
$node->safe_psql('postgres', q{
	BEGIN;
	SELECT queen.push('late', '102', 'q', delay => '1 ms');
	PREPARE TRANSACTION 'waits';
});
$node->safe_psql('postgres', "COMMIT PREPARED 'waits'");
ok(wait_for_messages('late', 102), 'one of a prepared transaction is moved');

# Nobody is told of it after a restart: a pop moves it where no visit does before.
$node->safe_psql('postgres', q{
	SELECT queen.worker_stop();
	BEGIN;
	SELECT queen.push('late', '103', 'q', delay => '1 ms');
	PREPARE TRANSACTION 'waits';
});
$node->restart;
$node->safe_psql('postgres', "COMMIT PREPARED 'waits'");
is($node->safe_psql('postgres', q{SELECT payload FROM queen.pop('late', 'g', partition => 'q', auto_ack => true)}), "102\n103",
	'a pop finds one that was prepared before a restart');
$node->safe_psql('postgres', 'SELECT queen.worker_start()');

# A crash in the middle of many moves.
$node->safe_psql('postgres', q{
	SELECT queen.create_queue('crash');
	SELECT count(queen.push('crash', n::text, 'p' || n % 5, delay => make_interval(secs => n / 2000.0))) FROM generate_series(1, 4000) n;
});
$node->poll_query_until('postgres', q{SELECT coalesce(sum(next_offset), 0) > 500 FROM queen.partitions WHERE queue = 'crash'});
$node->kill9;
start_again($node);
ok(wait_for_messages('crash', 4000), 'all are moved after a crash');
is($node->safe_psql('postgres', q{
	SELECT count(*), count(DISTINCT payload::text), bool_and(n > before)
	  FROM (SELECT payload, payload::text::int AS n, lag(payload::text::int, 1, 0) OVER (PARTITION BY partition ORDER BY message_offset) AS before
			  FROM queen.pop('crash', 'g', 10000, auto_ack => true)) p
}), '4000|4000|t', 'each once, in order');

# A session that found no launcher tells the one that was started since.
my $other = queen_node('other', q{
	shared_preload_libraries = ''
	queen.naptime = 1h
});
$other->safe_psql('postgres', q{
	SELECT queen.create_queue('late');
	SELECT queen.push('late', '1', 'p', delay => '10 min');
	SELECT queen.start_worker();
	DO $$ BEGIN WHILE (SELECT max(last_run_at) FROM queen.worker_status) IS NULL LOOP COMMIT; END LOOP; END $$;
	SELECT queen.push('late', '2', 'q', delay => '100 ms');
});
ok($other->poll_query_until('postgres', q{SELECT count(*) = 1 FROM queen.partitions WHERE queue = 'late' AND next_offset = 1}),
	'a launcher that came later is told');

done_testing();
