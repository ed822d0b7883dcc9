# 50 sessions meet 2,000 fresh partitions and a fresh group at once: pushes name
# them in differing order, few or all at a time, and pops register the group in
# between. No error, one row for each partition, and nothing is lost.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QueenNode;
use Test::More;

my $sessions = 50;
my $partitions = 2000;
my $node = queen_node('main', q{
	max_connections = 100
	queen.auto_create_queue = on
});

# Each session pushes one message to each partition, in an order of its own, and
# pops between its pushes. They begin together, when the gate opens. Every tenth
# session names all partitions in one call.
$node->safe_psql('postgres', q{
	CREATE TABLE delivered (partition text, message_offset bigint, payload text, delivery int);

	CREATE PROCEDURE meet(worker int, partitions int) LANGUAGE plpgsql
	AS $$
	DECLARE
		size int := CASE WHEN worker % 10 = 0 THEN partitions ELSE 40 END;
		items json;
	BEGIN
		PERFORM pg_advisory_lock_shared(1);
		COMMIT;
		FOR chunk IN 0 .. partitions / size - 1 LOOP
			SELECT json_agg(json_build_object('partition', p, 'payload', worker))
			  INTO items
			  FROM (SELECT 'p' || n AS p FROM generate_series(1, partitions) n
					 ORDER BY md5(worker || '-' || n) LIMIT size OFFSET chunk * size) c;
			PERFORM queen.push_items('fresh', items);
			COMMIT;
			IF chunk % 10 = 0 THEN
				INSERT INTO delivered
				SELECT partition, message_offset, payload::text, delivery
				  FROM queen.pop('fresh', 'g', batch => 50, auto_ack => true);
				COMMIT;
			END IF;
		END LOOP;
	END $$;
});

my $gate = session($node);
$gate->query('SELECT pg_advisory_lock(1)');

my $file = $node->basedir . '/meet.sql';
my ($out, $err) = ('', '');
append_to_file($file, "CALL meet(:client_id, $partitions)\n");
my $pgbench = IPC::Run::start(
	[
		'pgbench', '-n', '-c', $sessions, '-j', 4, '-t', 1, '-f', $file,
		$node->connstr('postgres')
	],
	'>', \$out, '2>', \$err,
	IPC::Run::timeout(4 * $PostgreSQL::Test::Utils::timeout_default));

$node->poll_query_until('postgres', qq{
	SELECT count(*) = $sessions FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND NOT granted
}) or die 'the sessions did not come';
$gate->query('SELECT pg_advisory_unlock(1)');
$pgbench->finish;

like($out, qr{number of transactions actually processed: $sessions/$sessions},
	'all sessions came through');
unlike($err, qr/ERROR|FATAL|aborted/, 'without an error');

is($node->safe_psql('postgres', q{
	SELECT (SELECT count(*) FROM queen.queues),
		   (SELECT count(*) FROM queen.consumer_groups),
		   (SELECT count(*) FROM queen.partition),
		   (SELECT count(DISTINCT name) FROM queen.partition),
		   (SELECT min(messages) || '-' || max(messages) FROM queen.partitions)
}), "1|1|$partitions|$partitions|$sessions-$sessions",
	'one queue, one group, one row for each partition, all messages');

# Each partition has one message of each session.
$node->safe_psql('postgres', q{
	INSERT INTO delivered
	SELECT partition, message_offset, payload::text, delivery
	  FROM queen.pop('fresh', 'g', batch => 1000000, max_partitions => 10000, auto_ack => true)
});
is($node->safe_psql('postgres', q{
	SELECT count(*), count(DISTINCT (partition, message_offset)),
		   count(DISTINCT (partition, payload)), max(delivery) FROM delivered
}), join('|', ($sessions * $partitions) x 3, 1), 'all of them delivered once');

is($node->safe_psql('postgres', q{
	SELECT deadlocks FROM pg_stat_database WHERE datname = 'postgres'
}), '0', 'no deadlock');

# Fresh groups, all at once: each gets a number of its own.
$file = $node->basedir . '/groups.sql';
append_to_file($file, q{
SELECT count(*) FROM queen.pop('fresh', 'g-' || :client_id, batch => 10);
SELECT count(*) FROM queen.pop('fresh', 'shared', batch => 10, subscription_mode => 'new');
});
$node->command_checks_all(
	[
		'pgbench', '-n', '-c', $sessions, '-j', 4, '-t', 1, '-f', $file,
		$node->connstr('postgres')
	],
	0,
	[qr{number of transactions actually processed: $sessions/$sessions}],
	[qr/^(?!.*(ERROR|FATAL|aborted))/s],
	'fresh groups');
is($node->safe_psql('postgres', q{
	SELECT count(*), count(DISTINCT number), max(number) <= count(*) + 50 FROM queen.consumer_group
}), '52|52|t', 'one row and one number for each group');

$gate->quit;
$node->stop;
done_testing();
