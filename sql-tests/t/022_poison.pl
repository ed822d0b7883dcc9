# Poisoned queues: a corrupt segment, corrupt fingerprints, a delayed message
# that cannot be read, an owner who is gone, options that a superuser broke by
# hand. What is broken is refused by its SQLSTATE, the server goes on, the worker
# logs it, leaves that partition or queue alone and serves the others. And a role
# that may push to one queue holds up nobody else.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QueenNode;
use Test::More;

my $node = queen_node('main', q{
	queen.naptime = 100ms
	restart_after_crash = off
	max_locks_per_transaction = 64
	max_connections = 40
});

my $rounds = 0;

# Messages that are pushed to the good queue now are removed soon, and delayed ones are moved.
sub is_served
{
	my ($what) = @_;

	$rounds++;
	$node->safe_psql('postgres', q{SELECT queen.push('good', '1', 'p'), queen.push('good', '1', 'late', delay => '1 ms')});
	ok($node->poll_query_until('postgres', qq{SELECT count(*) = 2 FROM queen.partitions WHERE queue = 'good' AND partition IN ('p', 'late') AND next_offset = $rounds AND messages = 0}),
		"$what: the worker serves other queues");
	is($node->safe_psql('postgres', q{SELECT count(*) FROM queen.push('good', '1', 'mine')}), '1', '... and pushes go on');
}

# An error of a step is told with its SQLSTATE.
sub is_told
{
	my ($step, $state, $what) = @_;

	ok($node->poll_query_until('postgres', "SELECT error_state = '$state' FROM queen.worker_status WHERE step = '$step'"), "$what: told in worker_status");
}

# The broken queues have lower ids, so they come first in every walk.
$node->safe_psql('postgres', q{
	CREATE ROLE gone; CREATE ROLE pusher; GRANT CREATE ON SCHEMA queen TO gone;
	SELECT queen.create_queue('corrupt', dedup_window => '1 hour'), queen.create_queue('ids', dedup_window => '1 ms'),
		   queen.create_queue('later'), queen.create_queue('options', retention => '1 ms');
	SET ROLE gone;
	SELECT queen.create_queue('orphan', retention => '1 ms');
	RESET ROLE;
	SELECT queen.create_queue('good', retention => '1 ms', dedup_window => '0');
	SELECT queen.subscribe('corrupt', 'g');
});
is_served('at first');

# A segment whose bytes are not what was written: reading it is refused, the partition beside it is not.
$node->safe_psql('postgres', q{
	SELECT queen.push('corrupt', '"kept"', 'bad'), queen.push('corrupt', '"fine"', 'fine');
	UPDATE queen.segment s SET frames = set_byte(frames, length(frames) - 3, 1) FROM queen.partitions p WHERE p.partition_id = s.partition_id AND p.partition = 'bad';
});
is(sqlstate($node, q{SELECT count(*) FROM queen.pop('corrupt', 'g', partition => 'bad')}), 'XX001', 'a corrupt message is not handed out');
is(sqlstate($node, q{SELECT payload FROM queen.pop('corrupt', 'g', partition => 'fine', auto_ack => true)}), '"fine"', 'the partition beside it is fine');
is(sqlstate($node, q{SELECT message_offset FROM queen.push('corrupt', '1', 'bad')}), '1', 'pushes go on behind it');
is(sqlstate($node, q{SELECT count(*) FROM queen.seek('corrupt', 'g', partition => 'bad', to_offset => 1)}), '1', 'a seek passes it');
is(sqlstate($node, q{SELECT payload FROM queen.pop('corrupt', 'g', partition => 'bad')}), '1', 'and what is behind it is handed out');
is_served('a corrupt segment');

# Fingerprints of another length than they can have.
$node->safe_psql('postgres', q{
	SELECT count(*) FROM queen.push_items('ids', (SELECT jsonb_agg(jsonb_build_object('payload', n, 'partition', 'p', 'transactionId', n::text)) FROM generate_series(1, 100) n)::text);
});
$node->safe_psql('postgres', q{
	SELECT queen.alter_queue('ids', dedup_window => '1 hour');
	SELECT count(*) FROM queen.push_items('ids', (SELECT jsonb_agg(jsonb_build_object('payload', n, 'partition', 'bad', 'transactionId', n::text)) FROM generate_series(1, 100) n)::text);
	UPDATE queen.dedup_run r SET entries = entries || '\x00'::bytea FROM queen.partitions p WHERE p.partition_id = r.partition_id AND p.partition = 'bad';
});
is(sqlstate($node, q{SELECT status FROM queen.push('ids', '1', 'bad', '7')}), 'XX001', 'ids that cannot be read are told');
is(sqlstate($node, q{SELECT status FROM queen.push('ids', '1', 'bad')}), 'queued', 'a push without an id is none of them');
is(sqlstate($node, q{SELECT status FROM queen.push('ids', '1', 'other', '7')}), 'queued', 'nor is another partition');
$node->safe_psql('postgres', q{
	SELECT queen.alter_queue('ids', dedup_window => '1 ms');
	UPDATE queen.dedup SET runs = runs || '\x00'::bytea WHERE runs IS NOT NULL;
	UPDATE queen.dedup_due SET due_at = '2000-01-01';
});
is_served('broken fingerprints');

# A delayed message that cannot be taken out.
$node->safe_psql('postgres', q{
	SELECT queen.push('later', '1', 'p', delay => '1 h');
	CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE 'refused' USING ERRCODE = 'XX002'; END $$;
	CREATE TRIGGER refuse BEFORE DELETE ON queen.scheduled FOR EACH ROW WHEN (OLD.partition_name = 'p') EXECUTE FUNCTION refuse();
	UPDATE queen.scheduled SET deliver_at = '2000-01-01' WHERE partition_name = 'p';
});
is_told('delayed messages', 'XX002', 'a delayed message that cannot be moved');
is_served('a delayed message that cannot be moved');
$node->safe_psql('postgres', q{DROP TRIGGER refuse ON queen.scheduled; DROP FUNCTION refuse(); SELECT queen.worker_start()});
ok($node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM queen.read('later', 'p', 0)}), 'it is moved when that is mended');

# An owner that is no more: his queue is the superusers' only.
$node->safe_psql('postgres', q{REVOKE CREATE ON SCHEMA queen FROM gone; SELECT queen.push('orphan', '1', 'p'); DROP ROLE gone});
ok($node->poll_query_until('postgres', q{SELECT messages = 0 FROM queen.partitions WHERE queue = 'orphan'}), 'the queue of a role that was dropped is kept clean');
is(sqlstate($node, q{SET ROLE pusher; SELECT queen.push('orphan', '1')}), '42501', 'and is nobody\'s');
is(sqlstate($node, q{SELECT queen.set_owner('orphan', 'pusher'); SET ROLE pusher; SELECT message_offset FROM queen.push('orphan', '1', 'p')}), "\n1", 'until it is given away');

# Options broken by hand.
foreach my $option ("retention = '-1 hour'", "retention_bytes = -5", "partitions = 0", "partitions = -1", "lease = '-1 s'", "max_backlog = -1", "dedup_window = '-1 s'",
	"retry_limit = -1", "on_exhausted = 'nonsense'", "retention = '178000000 years'", "delivery_delay = '178000000 years'")
{
	my ($code) = $node->psql('postgres', "UPDATE queen.queue SET $option WHERE name = 'options'");
	my @answers = map { sqlstate($node, $_) } q{SELECT count(*) FROM queen.push('options', '1')}, q{SELECT count(*) FROM queen.pop('options', 'g')},
		q{SELECT count(*) FROM queen.queues}, q{SELECT count(*) FROM queen.retain('options', true)};

	unlike("@answers", qr/XX000/, ($code == 0 ? 'taken: ' : 'refused: ') . $option);
	is($node->safe_psql('postgres', 'SELECT 1'), '1', '... the server goes on');
	$node->safe_psql('postgres', q{UPDATE queen.queue q SET retention = g.retention, retention_bytes = g.retention_bytes, partitions = g.partitions, lease = g.lease, max_backlog = g.max_backlog,
		dedup_window = g.dedup_window, retry_limit = g.retry_limit, on_exhausted = g.on_exhausted, delivery_delay = g.delivery_delay FROM queen.queue g WHERE g.name = 'good' AND q.name = 'options'});
}
is_served('options broken by hand');

# A role with push on one queue: many partitions in one call take one lock, and others go on beside its open transaction.
$node->safe_psql('postgres', q{SELECT queen.create_queue('his'); SELECT queen.grant('his', 'pusher', '{push}')});
my $pusher = session($node);
$pusher->query('SET ROLE pusher; BEGIN');
like($pusher->query(q{SELECT count(*) FROM queen.push_items('his', (SELECT jsonb_agg(jsonb_build_object('payload', n, 'partition', 'p' || n)) FROM generate_series(1, 20000) n)::text)}), qr/20000/, '20,000 partitions in one call');
cmp_ok($node->safe_psql('postgres', q{SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'}), '<', 50, 'take few locks');
is(sqlstate($node, q{SET ROLE pusher; SET queen.max_partition_locks = 1000000}), '42501', 'he cannot have more');
is_served('a push to very many partitions, not committed');
$pusher->query('ROLLBACK');
$pusher->quit;

unlike(slurp_file($node->logfile), qr/terminated by signal|PANIC/, 'no process crashed');
$node->stop;
done_testing();
