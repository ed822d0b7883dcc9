# Deferred pushes in a server's life: more than memory holds, prepared
# transactions over a restart, sessions that are killed before they commit,
# crashes, a standby, and many clients at once.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QueenNode;
use Test::More;

my $node = queen_node('main', q{
	max_prepared_transactions = 10
	restart_after_crash = on
}, allows_streaming => 1);
my $files = $node->data_dir . '/base/pgsql_tmp';

# Names of the temporary files that are there.
sub temporary_files
{
	return join ' ', map { s{.*/}{}r } glob("$files/pgsql_tmp*");
}

# The log of a partition, read by a group that is undone.
sub queue_log
{
	my ($partition) = @_;

	return $node->safe_psql('postgres', qq{
		BEGIN;
		SELECT string_agg(payload #>> '{}', ' ' ORDER BY message_offset)
		  FROM queen.pop('work', 'reader', 1000000, partition => '$partition', auto_ack => true);
		ROLLBACK;
	});
}

$node->safe_psql('postgres', q{SELECT queen.create_queue('work')});

# 120 MB through a buffer of 1 MB: five partitions in turn, each message knows
# its number and the sum of its bytes.
my $large = session($node);
my $defer = q{SELECT count(queen.push_deferred('work', to_jsonb(n || ' ' || md5(n::text) || repeat(chr(97 + n % 26), 1000)), 'large ' || n % 5))
	FROM generate_series(%d, %d) n};

$large->query($_) foreach ("SET queen.deferred_buffer = '1MB'", 'BEGIN');
is($large->query(sprintf($defer, 0, 99999)), '100000', '100,000 messages are deferred');
$large->query('SAVEPOINT s');
is($large->query(sprintf($defer, 500000, 519999)), '20000', 'and 20,000 in a savepoint');
$large->query('ROLLBACK TO s');
is($large->query(sprintf($defer, 100000, 119999)), '20000', 'that is undone, and 20,000 others');
like(temporary_files(), qr/^pgsql_tmp\S+$/, 'they lie in a temporary file');
cmp_ok(-s (glob("$files/pgsql_tmp*"))[0], '<', 150 * 1024 * 1024, 'which is no larger than they are');
cmp_ok($large->query(q{SELECT sum(total_bytes) FROM pg_backend_memory_contexts WHERE name LIKE 'queen%deferred%'}),
	'<', 3 * 1024 * 1024, 'little of it is in memory');
is($node->safe_psql('postgres', 'SELECT count(*) FROM queen.partitions'), '0', 'nothing is appended yet');
is($large->query('COMMIT'), '', 'they are committed');
is(temporary_files(), '', 'the file is gone');
is($node->safe_psql('postgres', q{
	SELECT partition, count(*), bool_and(message_offset * 5 + right(partition, 1)::int = n),
		   bool_and(payload #>> '{}' = n || ' ' || md5(n::text) || repeat(chr(97 + n % 26), 1000))
	  FROM (SELECT *, split_part(payload #>> '{}', ' ', 1)::int AS n FROM queen.pop('work', 'reader', 1000000, auto_ack => true)) p
	 GROUP BY 1 ORDER BY 1
}), join("\n", map { "large $_|24000|t|t" } 0 .. 4), 'each is where it belongs, and whole');
is($node->safe_psql('postgres', q{SELECT count(*) > 230, max(message_count) < 1000 FROM queen.segment}), 't|t',
	'in segments of the usual size');

# A session that ends before it commits: nothing, and no file.
my %ends = (
	'a rollback' => sub { $large->query('ROLLBACK') },
	'a terminated session' => sub {
		my $pid = $large->query('SELECT pg_backend_pid()');

		$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid, 60000)");
		$large->{psql}->{run}->finish;
		$large = session($node);
	});
foreach my $end (sort keys %ends)
{
	$large->query($_) foreach ("SET queen.deferred_buffer = '64kB'", 'BEGIN');
	$large->query(sprintf($defer, 1, 1000));
	isnt(temporary_files(), '', "there is a file before $end");
	$ends{$end}->();
	is(temporary_files(), '', "none after $end");
	is($node->safe_psql('postgres', 'SELECT sum(messages) FROM queen.partitions'), '120000', "nothing came of $end");
}

# Cancelled while the commit waits: the transaction is gone, the session is not.
my $holder = session($node);
$holder->query($_) foreach ('BEGIN', q{SELECT queen.push('work', '"held"', 'held')});
$node->safe_psql('postgres', q{SELECT queen.push('work', '0', 'other')});
$holder->query(q{SELECT queen.push('work', '"held"', 'other')});
my $waiter = session($node);
$waiter->query($_) foreach ('BEGIN', q{SELECT queen.push_deferred('work', '"waiting"', 'other')});
my $pid = $waiter->query('SELECT pg_backend_pid()');
$waiter->send('COMMIT');
$node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_locks WHERE NOT granted AND pid = $pid") or die 'the commit does not wait';
is($node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)"), 't', 'a commit that waits is cancelled');
is($waiter->query(q{SELECT 'there'}), '57014', 'it fails');
is($waiter->query(q{SELECT queen.push_deferred('work', '"again"', 'again')}), 'again', 'the session goes on');
$holder->query('COMMIT');
is(queue_log('other'), '0 held', 'nothing of it is left');
is(queue_log('again'), 'again', 'and what came after is there');

# Prepared transactions: appended at PREPARE, seen from COMMIT PREPARED on.
sub prepare
{
	my ($name, @statements) = @_;

	return sqlstate($node, join(";\n", 'BEGIN', @statements, "PREPARE TRANSACTION '$name'") . ';');
}
my $many = q{SELECT count(queen.push_deferred('work', to_jsonb(n::text), 'prepared')) FROM generate_series(1, 2000) n};
is(prepare('kept', "SET LOCAL queen.deferred_buffer = '64kB'", $many), '2000', 'a transaction is prepared');
is(prepare('undone', q{SELECT queen.push_deferred('work', '"undone"', 'undone')}), 'undone', 'and another one');
is(temporary_files(), '', 'without a file');
is($node->safe_psql('postgres', q{SELECT count(*) FROM queen.partitions WHERE partition IN ('prepared', 'undone')}), '0', 'both are unseen');
is(sqlstate($node, "SET lock_timeout = '100ms';\nSELECT queen.push('work', '1', 'prepared');"), '55P03', 'its partition waits');
is(sqlstate($node, "SET lock_timeout = '100ms';\nSELECT queen.push_deferred('work', '1', 'prepared');"), '55P03', 'so does a deferred push to it, at commit');
$node->restart;
$node->safe_psql('postgres', "COMMIT PREPARED 'kept'");
$node->safe_psql('postgres', "ROLLBACK PREPARED 'undone'");
is(queue_log('prepared'), join(' ', 1 .. 2000), 'one is there after a restart, in order');
is($node->safe_psql('postgres', q{SELECT count(*) FROM queen.partitions WHERE partition = 'undone'}), '0', 'the other is not');
is(prepare('full', q{SELECT queen.create_queue('full', max_backlog => 1)}, q{SELECT queen.push_deferred('full', '1', 'p')}, q{SELECT queen.push_deferred('full', '2', 'p')}),
	'QN003', 'a full queue refuses PREPARE');
is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_prepared_xacts'), '0', 'and nothing is prepared');

# A standby refuses the call; what is committed is there.
$node->backup('backup');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
$standby->start;
is(sqlstate($standby, q{SELECT queen.push_deferred('work', '1', 'standby');}), '25006', 'a standby refuses it');
$node->safe_psql('postgres', q{SELECT queen.push_deferred('work', '1', 'streamed')});
$node->wait_for_catchup($standby);
is($standby->safe_psql('postgres', q{SELECT messages FROM queen.partitions WHERE partition = 'streamed'}), '1', 'and has what the primary appended');
$standby->stop;

# Many clients, partitions in any order, savepoints: no deadlock, and all is there.
my $script = $node->basedir . '/deferred.sql';
append_to_file($script, q{
\set a random(1, 8)
\set b random(1, 8)
\set c random(1, 8)
BEGIN;
SELECT queen.push_deferred('busy', to_jsonb(:client_id), 'p' || :a);
SAVEPOINT s;
SELECT queen.push_deferred('busy', to_jsonb(:client_id), 'p' || :b);
ROLLBACK TO s;
SELECT queen.push_deferred('busy', to_jsonb(:client_id), 'p' || :c), queen.push_deferred('busy too', '1', 'p' || :b);
COMMIT;
});
$node->safe_psql('postgres', q{SELECT queen.create_queue('busy'), queen.create_queue('busy too')});
$node->command_checks_all([ 'pgbench', '-n', '-c', '8', '-j', '2', '-t', '100', '-f', $script, $node->connstr('postgres') ],
	0, [qr/number of transactions actually processed: 800\/800/], [qr/^(?!.*(ERROR|deadlock))/s], 'eight clients, no error');
is($node->safe_psql('postgres', q{SELECT queue, sum(messages) FROM queen.partitions WHERE queue LIKE 'busy%' GROUP BY 1 ORDER BY 1}),
	"busy|1600\nbusy too|800", 'all that was committed is there');

# A crash: what was committed is there, what was deferred is not, nor its file.
$node->safe_psql('postgres', q{SELECT queen.push_deferred('work', '"committed"', 'crash')});
$large = session($node);
$large->query($_) foreach ("SET queen.deferred_buffer = '64kB'", 'BEGIN');
$large->query(sprintf($defer, 1, 1000));
$large->query(q{SELECT queen.push_deferred('work', '"deferred"', 'crash')});
isnt(temporary_files(), '', 'there is a file before a crash');
$node->stop('immediate');
$node->start;
is(temporary_files(), '', 'none after it');
is(queue_log('crash'), 'committed', 'what was committed is there, and no more');
is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database <> 0}), '0', 'no lock is left');

unlike(slurp_file($node->logfile), qr/PANIC|TRAP|XX000|not closed at end-of-transaction/, 'nothing internal went wrong');
$node->stop;
done_testing();
