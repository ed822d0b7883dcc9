# Fused pushes: durable whatever becomes of the caller's transaction, refused
# one by one, held up by a lock only where the lock counts. A worker in each
# database that leaves when it is not wanted. Large messages, many callers,
# callers that are cancelled.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QueenNode;
use Test::More;

my $node = queen_node('main', q{
	max_connections = 540
	max_worker_processes = 16
	max_prepared_transactions = 5
	wal_level = replica
	max_wal_senders = 2
	queen.fusion_idle = 1h
});

# The messages of a partition, in order.
sub stored
{
	my ($queue, $partition, $database) = @_;

	return $node->safe_psql($database // 'postgres', qq{
		BEGIN;
		SELECT string_agg(message_offset || '=' || (payload #>> '{}'), ' ' ORDER BY message_offset)
		  FROM queen.pop('$queue', 'test', 100000, partition => '$partition', auto_ack => true);
		ROLLBACK;
	});
}

sub fused
{
	my ($queue, $partition, $body) = @_;

	return "SELECT message_offset FROM queen.push_fused('$queue', to_jsonb('$body'::text), '$partition')";
}

# Waits until so many callers wait in the server's own queues for a lock.
sub await_waiters
{
	my ($count) = @_;

	$node->poll_query_until('postgres',
		"SELECT count(*) = $count FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
	  or die 'nobody waits';
}

# Waits until so many workers are there.
sub await_workers
{
	my ($count) = @_;

	return $node->poll_query_until('postgres',
		"SELECT count(*) = $count FROM pg_stat_activity WHERE backend_type = 'queen fusion worker'");
}

sub in_pgbench
{
	my ($clients, $transactions, $script, $name, @more) = @_;
	my $file = $node->basedir . "/$name.sql";

	append_to_file($file, "$script\n");
	$node->command_checks_all(
		[
			'pgbench', '-n', '-c', $clients, '-j', 4, '-t', $transactions, '-f', $file, @more,
			$node->connstr('postgres')
		],
		0,
		[ qr{number of transactions actually processed: @{[$clients * $transactions]}/} ],
		[qr/^(?!.*(ERROR|FATAL|aborted))/s],
		"$name: every call was answered");
}

$node->safe_psql('postgres', q{
	SELECT queen.create_queue('work'), queen.create_queue('three', partitions => 3);
	CREATE ROLE app; CREATE ROLE stranger;
	GRANT CREATE ON SCHEMA queen TO app;
});

#
# Independent of the caller's transaction
#
is($node->safe_psql('postgres', q{
	SELECT * FROM queen.push_fused('work', '1', 'p', transaction_id => 'x', headers => '{"h": 1}');
	SELECT * FROM queen.push_fused('work', '\x00ff'::bytea);
}), "p|0|queued|\nDefault|0|queued|", 'answers');
is($node->safe_psql('postgres', q{
	SELECT payload, headers, transaction_id FROM queen.pop('work', 'look', partition => 'p');
	SELECT body FROM queen.pop('work', 'look', partition => 'Default');
}), "1|{\"h\": 1}|x\n\\x00ff", 'and the whole message is there');
$node->safe_psql('postgres', 'BEGIN; ' . fused('work', 'tx', 'kept') . '; ROLLBACK');
is(stored('work', 'tx'), '0=kept', 'a rollback does not undo it');
is($node->safe_psql('postgres', q{
	BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT 1;
	SELECT message_offset FROM queen.push_fused('work', '"seen"', 'tx');
	COMMIT;
}), "1\n1", 'in any isolation level');
is($node->safe_psql('postgres', q{
	SELECT count(DISTINCT partition), min(partition), max(partition) FROM (
		SELECT (queen.push_fused('three', to_jsonb(n))).partition FROM generate_series(1, 9) n) x
}), '3|Default|Default-3', 'without a partition it goes to the lanes in turn');
my $lanes = q{SELECT string_agg((queen.VERB('three', '1', transaction_id => 'id ' || n)).partition, ' ') FROM generate_series(1, 20) n};
is($node->safe_psql('postgres', $lanes =~ s/VERB/push_fused/r), $node->safe_psql('postgres', $lanes =~ s/VERB/push/r),
	'by transaction id to the lane of push');

#
# What is refused, and by which SQLSTATE
#
is(sqlstate($node, fused('none', 'p', 'x')), '42704', 'unknown queue');
is(sqlstate($node, 'SET ROLE stranger; ' . fused('work', 'p', 'x')), '42501', 'a queue of somebody else');
is(sqlstate($node, 'BEGIN READ ONLY; ' . fused('work', 'p', 'x')), '25006', 'read-only transaction');
is(sqlstate($node, "SELECT queen.push_fused('work', '{', 'p')"), '22P02', 'not JSON');
is(sqlstate($node, "SELECT queen.push_fused('work', NULL, 'p')"), '22004', 'no payload');
is(sqlstate($node, "SELECT queen.push_fused('work', '1', 'p', headers => '1')"), '22023', 'bad headers');
is(sqlstate($node, "SET queen.max_message_bytes = '1kB'; SELECT queen.push_fused('work', to_jsonb(repeat('x', 2000)), 'p')"),
	'54000', 'too large');
is(sqlstate($node, "SET queen.auto_create_queue = on; SET ROLE stranger; " . fused('made', 'p', 'x')),
	'42501', 'a queue is not made for who may not');
is(sqlstate($node, "SET queen.auto_create_queue = on; SET ROLE app; BEGIN; " . fused('made', 'p', 'x') . '; ROLLBACK'),
	'0', 'but for who may');
is($node->safe_psql('postgres', "SELECT owner FROM queen.queues WHERE queue = 'made'"), 'app', 'and is his');
is(sqlstate($node, 'SET ROLE app; ' . fused('work', 'p', 'x')), '42501', 'he has no right to others');

# A grant lets a role push, as to any push; what is revoked is not there any more.
$node->safe_psql('postgres', q{SELECT queen.grant('work', 'app', '{push}')});
is(sqlstate($node, 'SET ROLE app; ' . fused('work', 'granted', 'x')), '0', 'until he is granted one');
$node->safe_psql('postgres', q{SELECT queen.revoke('work', 'app', '{push}')});
is(sqlstate($node, 'SET ROLE app; ' . fused('work', 'granted', 'x')), '42501', 'and not after it is revoked');

#
# What every append does: ids are remembered, waiters are woken, it is counted
#
my $id = q{SELECT message_offset, status, scheduled_id IS NOT NULL FROM queen.push_fused('work', '1', 'ids', transaction_id => 'ID')};
is($node->safe_psql('postgres', ($id =~ s/ID/one/r) . ';' . ($id =~ s/ID/one/r) . ';' . ($id =~ s/ID/two/r)),
	"0|queued|f\n0|duplicate|f\n1|queued|f", 'a duplicate is told where the first one is');
is($node->safe_psql('postgres', q{SELECT status FROM queen.push('work', '1', 'ids', 'two');} . q{SELECT queen.push('work', '1', 'ids', 'late', '{}', '1 day');} . ($id =~ s/ID/late/r)) =~ s/.*\n\(.*\n//sr,
	'|duplicate|t', 'also of one that waits for its time');
is($node->safe_psql('postgres', q{SELECT count(*) FROM queen.push_items('work', '[{"payload": 1, "partition": "ids", "transactionId": "two"}, {"payload": 1, "partition": "ids", "transactionId": "three"}]') WHERE status = 'duplicate';}
	. ($id =~ s/ID/three/r)), "1\n2|duplicate|f", 'pushes of both kinds know each other');
$node->safe_psql('postgres', q{SELECT queen.subscribe('work', 'woken', 'new')});
my $waiter = session($node);
$waiter->send(q{SELECT payload FROM queen.pop('work', 'woken', wait => '100 s', auto_ack => true)});
$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE query LIKE '%100 s%' AND state = 'active' AND pid <> pg_backend_pid() AND wait_event IN ('QueenWait', 'Extension')});
$node->safe_psql('postgres', fused('work', 'wakes', 'woken'));
is($waiter->query("SELECT 'done'"), "\"woken\"\ndone", 'a waiting pop is woken');
$waiter->quit;
$node->safe_psql('postgres', q{SELECT queen.create_queue('counted', max_backlog => 2)});
$node->safe_psql('postgres', join(';', map { fused('counted', $_, 'x') } ('p', 'q', 'p')));
is(sqlstate($node, fused('counted', 'p', 'x')), 'QN003', 'a full partition refuses');
is($node->safe_psql('postgres', "SELECT pushes, messages, bytes FROM queen.stat_queues WHERE queue = 'counted'"), '3|3|9',
	'calls are counted, not those that were refused');
$node->safe_psql('postgres', q{SELECT queen.create_queue('ripens', delivery_delay => '1 hour')});
$node->safe_psql('postgres', fused('ripens', 'p', 'x'));
is($node->safe_psql('postgres', q{
	SELECT count(*) FROM queen.pop('ripens', 'g', auto_ack => true);
	SELECT count(queen.alter_queue('ripens', delivery_delay => '0'));
	SELECT count(*) FROM queen.pop('ripens', 'g', auto_ack => true);
}), "0\n1\n1", 'a delivery delay holds for them');
my $old = session($node);
$old->query("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM queen.queues WHERE queue = 'ripens'");
$node->safe_psql('postgres', q{SELECT queen.drop_queue('ripens', true)});
is($old->query("SET statement_timeout = '20s'; " . fused('ripens', 'p', 'x')), '42704', 'a queue that only an old snapshot sees');
$old->quit;

#
# The caller's own transaction is in the way: 55000 at once
#
foreach my $own (
	[ q{SELECT queen.push('work', '1', 'tx')}, 'pushed to the partition' ],
	[ q{SELECT queen.push('work', '1', 'tx new')}, 'made the partition', 'tx new' ],
	[ q{SELECT queen.create_queue('own')}, 'made the queue', 'tx', 'own' ],
	[ q{SELECT queen.purge('three')}, 'purged the queue', 'Default', 'three' ],
	[ q{LOCK TABLE queen.segment IN SHARE MODE}, 'locked the table' ])
{
	my ($sql, $name, $partition, $queue) = @$own;
	my $call = fused($queue // 'work', $partition // 'tx', 'never');

	is(sqlstate($node, "SET statement_timeout = '20s'; BEGIN; SELECT 1 FROM ($sql) x; $call") , '55000', "a transaction that $name")
	  unless $sql =~ /LOCK/;
	is(sqlstate($node, "SET statement_timeout = '20s'; BEGIN; $sql; $call"), '55000', "... $name, as a statement");
	is($node->safe_psql('postgres', "BEGIN; SAVEPOINT s; $sql; ROLLBACK TO s; SELECT count(*) FROM ($call) x") =~ /1$/, 1,
		'... not once it is undone') unless $name =~ /queue/;
}
is(sqlstate($node, "BEGIN; SELECT queen.alter_queue('work', retry_limit => 2); " . fused('work', 'altered', 'x') . '; ROLLBACK'),
	"\n0", 'a transaction that changed the options is none of them');
unlike(stored('work', 'tx'), qr/never.*never.*never.*never/, 'and nothing was appended that was refused');

#
# A lane that somebody holds delays its own callers only
#
my $holder = session($node);
my $waiting = session($node);
my $passing = session($node);

$holder->query("BEGIN; SELECT queen.push('work', '\"held\"', 'lane')");
$holder->query("COMMIT");
$holder->query("BEGIN; SELECT queen.push('work', '\"held\"', 'lane')");
$waiting->send(fused('work', 'lane', 'waited'));
is($passing->query(fused('work', 'free', 'passed')), '0', 'another lane goes on');
await_waiters(1);
is($passing->query("SET lock_timeout = '100ms'; " . fused('work', 'lane', 'late')), '55P03', 'lock_timeout counts');
is($passing->query("RESET lock_timeout; SET statement_timeout = '200ms'; " . fused('work', 'lane', 'late')), '57014', 'and statement_timeout');
is($passing->query('RESET statement_timeout; ' . fused('work', 'free', 'passed')), '1', 'the lane is still free');
$holder->query('COMMIT');
is($waiting->query("SELECT 'done'"), "2\ndone", 'the caller that waited got its turn');
is(stored('work', 'lane'), '0=held 1=held 2=waited', 'and what was given up is not there');

$holder->query("BEGIN; SELECT queen.push('work', '\"prepared\"', 'lane')");
$holder->query("PREPARE TRANSACTION 'held'");
$waiting->send(fused('work', 'lane', 'waited'));
is($passing->query(fused('work', 'free', 'passed')), '2', 'a prepared transaction holds its lane only');
await_waiters(1);
$passing->query("COMMIT PREPARED 'held'");
is($waiting->query("SELECT 'done'"), "4\ndone", 'until it is committed');

# A partition that somebody is making.
$holder->query("BEGIN; SELECT queen.push('work', '\"made\"', 'making')");
$waiting->send(fused('work', 'making', 'waited'));
is($passing->query(fused('work', 'free', 'passed')), '3', 'nor is another lane held by one that is being made');
await_waiters(1);
$holder->query('ROLLBACK');
is($waiting->query("SELECT 'done'"), "0\ndone", 'a partition whose maker gave up is made');

# A caller that dies while its message waits takes it along.
$holder->query("BEGIN; SELECT queen.push('work', '\"held\"', 'lane')");
$waiting->send(fused('work', 'lane', 'killed'));
await_waiters(1);
$passing->query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'");
$node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock'");
$holder->query('COMMIT');
is($passing->query(fused('work', 'lane', 'next')), '6', 'nothing of a caller that was terminated is there');
eval { $waiting->quit };
$waiting = session($node);

# Who waits for a lock in a circle is told.
$holder->query("SET deadlock_timeout = '10ms'; BEGIN; SELECT queen.push('work', '1', 'x')");
$holder->query("COMMIT; BEGIN; SELECT queen.push('work', '1', 'x')");
$waiting->query("SET deadlock_timeout = '1h'; SELECT queen.push('work', '1', 'y'); BEGIN; SELECT queen.push('work', '1', 'y')");
$waiting->send(fused('work', 'x', 'circle'));
await_waiters(1);
is($holder->query("SELECT queen.push('work', '1', 'y')"), '40P01', 'a circle through a fused push is seen');
$holder->query('ROLLBACK');
is($waiting->query('COMMIT'), '1', 'and the other goes on');

# A drop that waits for others lets nobody pass; then the queue is gone.
$node->safe_psql('postgres', "SELECT queen.create_queue('short')");
$holder->query("BEGIN; SELECT queen.push('short', '1', 'p'); SAVEPOINT s");
$passing->send("SELECT queen.drop_queue('short', true)");
await_waiters(1);
is($holder->query(fused('short', 'q', 'never')), '55000', 'not even the one for whom it waits');
$holder->query('ROLLBACK TO s');
$waiting->send(fused('short', 'q', 'never'));
await_waiters(2);
$holder->query('ROLLBACK');
is($waiting->query("SELECT 'done'"), '42704', 'a queue dropped meanwhile');
is($passing->query("SELECT 'done'"), "\ndone", '... by him who waited');

# A table that an operator has locked.
$holder->query('BEGIN; LOCK TABLE queen.segment IN ACCESS EXCLUSIVE MODE');
$waiting->send(fused('work', 'table', 'waited'));
await_waiters(1);
$holder->query('ROLLBACK');
is($waiting->query("SELECT 'done'"), "0\ndone", 'a table that is locked is waited for');
# An index, for which only a statement asks.
$holder->query('BEGIN; LOCK TABLE queen.consumer_group IN ACCESS EXCLUSIVE MODE');
$node->safe_psql('postgres', "SELECT queen.create_queue('limited', max_backlog => 100)");
is($waiting->query(fused('limited', 'p', 'never')), '55P03', 'one that only some need is waited for, not for long');
$holder->query('ROLLBACK');

#
# A bad message fails alone
#
$node->safe_psql('postgres', q{
	CREATE TABLE answer (client int, n int, queue text, partition text, message_offset bigint, state text);
	CREATE FUNCTION try(c int, i int, q text, p text) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		INSERT INTO answer SELECT c, i, q, p, f.message_offset, f.status
		  FROM queen.push_fused(q, to_jsonb(c || '-' || i), p) f;
	EXCEPTION WHEN OTHERS THEN
		INSERT INTO answer VALUES (c, i, q, p, NULL, SQLSTATE);
	END $$;
});
in_pgbench(40, 25, q{
\set n :n + 1
\set kind (:client_id + :n) % 4
SELECT try(:client_id, :n, CASE :kind WHEN 0 THEN 'limited' WHEN 1 THEN 'none' ELSE 'work' END,
	CASE :kind WHEN 2 THEN 'mixed' ELSE 'mixed 2' END);
}, 'mixed', '-D', 'n=0');
is($node->safe_psql('postgres', 'SELECT queue, state, count(*) FROM answer GROUP BY 1, 2 ORDER BY 1, 2'),
	"limited|QN003|150\nlimited|queued|100\nnone|42704|250\nwork|queued|500",
	'of many, each has its own answer');
is($node->safe_psql('postgres', q{
	SELECT count(*), bool_and(a.message_offset = s.message_offset) FROM answer a JOIN (
		SELECT partition, message_offset, payload #>> '{}' AS body FROM queen.pop('work', 'check', 100000)) s
	  ON s.body = client || '-' || n AND s.partition = a.partition
	 WHERE a.state = 'queued'
}), '500|t', 'and is where it was told to be');

# An error that only the transaction meets finds its message: here a trigger's.
$node->safe_psql('postgres', q{
	TRUNCATE answer;
	CREATE FUNCTION picky() RETURNS trigger LANGUAGE plpgsql AS $$
	BEGIN
		IF position('\x2d313322'::bytea IN new.frames) > 0 THEN	-- -13"
			RAISE 'thirteen' USING ERRCODE = 'P0013';
		END IF;
		RETURN new;
	END $$;
	CREATE TRIGGER picky BEFORE INSERT ON queen.segment FOR EACH ROW EXECUTE FUNCTION picky();
});
in_pgbench(30, 20, q{
\set n :n + 1
SELECT try(:client_id, :n, 'work', 'picky');
}, 'picky', '-D', 'n=0');
is($node->safe_psql('postgres', "SELECT state, count(*), bool_and((n = 13) = (state <> 'queued')) FROM answer GROUP BY 1 ORDER BY 1"),
	"P0013|30|t\nqueued|570|t", 'an error of the whole transaction hits the message that it is about');
$node->safe_psql('postgres', 'DROP TRIGGER picky ON queen.segment');

#
# Many callers
#
$node->safe_psql('postgres', 'TRUNCATE answer');
in_pgbench(500, 10, q{
\set n :n + 1
SELECT try(:client_id, :n, 'work', 'many ' || (:client_id % 5));
}, 'many', '-D', 'n=0');
my $order = q{
	SELECT count(*), count(DISTINCT body), bool_and(coalesce(n > before, true)), bool_and(no_hole) FROM (
		SELECT body, n, lag(n) OVER (PARTITION BY partition, client ORDER BY message_offset) AS before,
			   message_offset = row_number() OVER (PARTITION BY partition ORDER BY message_offset) - 1 AS no_hole
		  FROM (SELECT partition, message_offset, payload #>> '{}' AS body,
					   split_part(payload #>> '{}', '-', 1) AS client, split_part(payload #>> '{}', '-', 2)::int AS n
				  FROM generate_series(0, 4) p,
					   queen.pop('work', 'order', 100000, partition => 'PREFIX ' || p, auto_ack => true)) m) o
};
is($node->safe_psql('postgres', $order =~ s/PREFIX/many/r), '5000|5000|t|t',
	'500 callers: each message once, no hole, each caller in order');
is($node->safe_psql('postgres', "SELECT count(*) FROM answer WHERE state <> 'queued'"), '0', 'none was refused');
cmp_ok($node->safe_psql('postgres', q{
	SELECT count(*) FROM queen.segment s JOIN queen.partitions p USING (partition_id) WHERE p.partition LIKE 'many %'
}), '<', 5000, 'several of them share a segment');

#
# Large messages, more than the buffer holds
#
$node->append_conf('postgresql.conf', 'queen.fusion_buffer = 64kB');
$node->restart;
is($node->safe_psql('postgres', q{
	SELECT message_offset FROM queen.push_fused('work', to_jsonb(repeat('x', 20000000)), 'large');
	SELECT length(payload::text) FROM queen.pop('work', 'large', partition => 'large', auto_ack => true);
}), "0\n20000002", '20 MB');
in_pgbench(40, 5, q{
SELECT count(*) FROM queen.push_fused('work', to_jsonb(:client_id || repeat('y', 200000)), 'large');
}, 'large');
is($node->safe_psql('postgres', q{
	SELECT count(*), min(length(payload #>> '{}')), count(DISTINCT left(payload #>> '{}', 2))
	  FROM queen.pop('work', 'large', partition => 'large', auto_ack => true, batch => 1000)
}), '200|200001|40', '40 callers with more than the buffer');
# None is left behind, of those that were refused neither.
is(sqlstate($node, "SELECT queen.push_fused('none', to_jsonb(repeat('x', 200000)), 'p')"), '42704', 'a large one is refused');
$node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE wait_event = 'QueenFusedPush'");

#
# A worker that is ended under load: the callers do not notice
#
$node->safe_psql('postgres', 'TRUNCATE answer');
my $killer = q{
SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE backend_type = 'queen fusion worker' AND :client_id = 0 AND :n % 5 = 0;
};
in_pgbench(30, 50, "\\set n :n + 1\n$killer" . q{
SELECT try(:client_id, :n, 'work', 'killed ' || (:client_id % 5));
}, 'killed', '-D', 'n=0');
is($node->safe_psql('postgres', $order =~ s/PREFIX/killed/r), '1500|1500|t|t',
	'worker terminated ten times: each message once, in order');
is($node->safe_psql('postgres', "SELECT count(*) FROM answer WHERE state <> 'queued'"), '0', 'no call failed');

#
# Databases: a worker each, that leaves
#
foreach my $database ('one', 'two')
{
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, q{
		CREATE EXTENSION queen;
		SELECT queen.create_queue('work');
		SELECT queen.push_fused('work', to_jsonb(current_database()), 'p');
	});
}
$node->safe_psql('postgres', fused('work', 'databases', 'x'));
ok(await_workers(3), 'each database has its own worker');
is(stored('work', 'p', 'one'), '0=one', 'with its own messages');
is(stored('work', 'p', 'two'), '0=two', 'and the other with others');
$node->safe_psql('postgres', 'ALTER DATABASE one RENAME TO uno');
$node->safe_psql('uno', "SELECT queen.push_fused('work', '1', 'p')");
$node->safe_psql('postgres', 'CREATE DATABASE copy TEMPLATE uno');
is($node->safe_psql('copy', "SELECT message_offset FROM queen.push_fused('work', '1', 'p')"), '2', 'a copy goes on by itself');
is($node->safe_psql('uno', "SELECT message_offset FROM queen.push_fused('work', '1', 'p')"), '2', 'and so does what it was copied from');
$node->safe_psql('postgres', "DROP DATABASE $_") foreach ('uno', 'two', 'copy');
ok(await_workers(1), 'databases are renamed, copied and dropped beside idle workers');

# Settings of a database do not hinder its worker.
$node->safe_psql('postgres', q{CREATE DATABASE odd});
$node->safe_psql('odd', q{
	CREATE EXTENSION queen; SELECT queen.create_queue('work');
	ALTER DATABASE odd SET default_transaction_isolation = 'serializable';
	ALTER DATABASE odd SET default_transaction_read_only = on;
	ALTER DATABASE odd SET statement_timeout = '1ms';
	ALTER DATABASE odd SET search_path = 'nowhere';
});
is($node->safe_psql('odd', "SET statement_timeout = 0; SET default_transaction_read_only = off; " . fused('work', 'p', 'x')),
	'0', 'odd settings of the database');

#
# The extension goes and comes back
#
$node->safe_psql('postgres', 'DROP EXTENSION queen');
is(sqlstate($node, fused('work', 'p', 'x')), '3F000', 'no extension, no function');
is($node->safe_psql('postgres', "CREATE EXTENSION queen; SELECT queen.create_queue('work'); " . fused('work', 'p', 'x')), "\n0",
	'with a new one the worker goes on');
$waiting = session($node);
$holder = session($node);
$waiting->query(fused('work', 'p', 'x'));
# The drop waits for no worker, and a call that waits behind it finds nothing.
$holder->query('BEGIN; DROP EXTENSION queen');
$waiting->send(fused('work', 'p', 'x'));
$holder->query('COMMIT');
like($waiting->query("SELECT 'done'"), qr/^(42704|3F000|42883|XX000)$/, 'a call beside the drop is refused');
$node->safe_psql('postgres', "CREATE EXTENSION queen; SELECT queen.create_queue('work')");

#
# An idle worker leaves, and comes back
#
$node->append_conf('postgresql.conf', "queen.fusion_idle = '50ms'");
$node->reload;
$node->safe_psql('postgres', fused('work', 'p', 'x'));
ok(await_workers(0), 'idle workers leave');
in_pgbench(10, 20, q{
SELECT count(*) FROM queen.push_fused('work', '1', 'idle');
\sleep 45 ms
}, 'idle');
is($node->safe_psql('postgres', "SELECT messages FROM queen.partitions WHERE partition = 'idle'"), '200',
	'none is lost where workers come and go');

#
# Cancelled while the worker commits: here it waits for a standby that never comes
#
# The setting of the worker's database counts, the caller's own does not.
$waiting = session($node);
$waiting->query('SET synchronous_commit = off');
$node->safe_psql('postgres', 'ALTER DATABASE odd SET synchronous_commit = local');
$node->safe_psql('postgres', "ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
$node->reload;
my $calls = 0;
my $state = '';
while ($state ne '57014' && $calls < 1000)
{
	$state = $waiting->query("SET statement_timeout = '200ms'; " . fused('work', 'sync', 'cancelled'));
	$calls++;
}
is($state, '57014', 'a call is cancelled while it is being committed');
is($waiting->query(fused('work', 'sync', 'never')), '57014', 'the next one of that session waits for it');
my ($code, $out, $err) = $node->psql('postgres', "SET statement_timeout = '200ms'; " . fused('work', 'sync 2', 'late'));
unlike($err, qr/may have been appended/, 'one that was not taken yet is not there');
is(sqlstate($node, "SET statement_timeout = '20s'; SET default_transaction_read_only = off; " . fused('work', 'p', 'x'), database => 'odd'),
	'1', 'where the database asks for no standby none is waited for');

# A worker that is ended in that wait acknowledges nothing, one that is cancelled waits on.
my $behind = session($node);
my $workers = q{FROM pg_stat_activity WHERE backend_type = 'queen fusion worker' AND datname = 'postgres'};
my $first = $node->safe_psql('postgres', "SELECT pid $workers");
$behind->send(fused('work', 'sync 3', 'doubtful'));
$node->safe_psql('postgres', "SELECT pg_terminate_backend($first)");
ok($node->poll_query_until('postgres', "SELECT count(*) = 1 $workers AND pid <> $first AND wait_event = 'SyncRep'"),
	'the next worker waits, too');
$node->safe_psql('postgres', "SELECT pg_cancel_backend(pid) $workers");
is(join(' ', map { $node->safe_psql('postgres', "SELECT wait_event $workers") } 1 .. 10), join(' ', ('SyncRep') x 10),
	'no cancel ends it');
$node->safe_psql('postgres', "SELECT pg_terminate_backend(pid) $workers");
is($behind->query("SELECT 'done'"), '40003', 'a message that may not have reached the standbys is not acknowledged');
$behind->quit;
$node->safe_psql('postgres', "SET synchronous_commit = off; ALTER SYSTEM RESET synchronous_standby_names");
$node->reload;
is($waiting->query('RESET statement_timeout; ' . fused('work', 'sync', 'next')), $calls,
	'the cancelled one is there, and the one that waited is not');
is($node->safe_psql('postgres', "SELECT count(*) FROM queen.partitions WHERE partition = 'sync 2'"), '0', 'nor the other');
is(stored('work', 'sync 3'), '0=doubtful', 'the one in doubt is there, once');
like(slurp_file($node->logfile), qr/CONTEXT:  the message was being committed and may have been appended/, 'its context says that it may be');
$waiting->quit;
$waiting = session($node);

#
# A server that stops does not wait
#
$holder->query("BEGIN; SELECT queen.push('work', '1', 'idle')");
$waiting->send(fused('work', 'idle', 'never'));
await_waiters(1);
$node->stop('fast');
pass('a fast shutdown ends callers and worker');
$node->append_conf('postgresql.conf', "max_worker_processes = 0");
$node->start;
is(sqlstate($node, fused('work', 'p', 'x')), '53400', 'no worker to be had');
$node->append_conf('postgresql.conf', "shared_preload_libraries = ''");
$node->restart;
is(sqlstate($node, fused('work', 'p', 'x')), '55000', 'without preloading');
($code, $out, $err) = $node->psql('postgres', fused('work', 'p', 'x'));
like($err, qr/HINT: .*shared_preload_libraries/, '... and how to get it');
is(sqlstate($node, "SELECT message_offset FROM queen.push('work', '1', 'idle')"), '200', 'others go on');

$node->stop;
done_testing();
