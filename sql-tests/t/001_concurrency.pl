# Many sessions at once: 8 pop 30 partitions of 200 messages and acknowledge in
# three ways, then as groups that begin, then pushes and pops run together. Every
# message comes exactly once and in order, nobody deadlocks, and no answer is
# empty while a partition that nobody holds has messages.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QueenNode;
use Test::More;

# The timeout ends the loops of those whose work a broken one never finished.
# Partitions that are forgotten would be found after a day only.
my $node = queen_node('main', "statement_timeout = 60s\nqueen.reconcile_interval = 1d");

# Runs a script once in each of some sessions, and tells how it ended.
sub in_sessions
{
	my ($sessions, $script, $name) = @_;
	my $file = $node->basedir . "/$name.sql";

	append_to_file($file, "$script\n");
	$node->command_checks_all(
		[
			'pgbench', '-n', '-c', $sessions, '-j', 4, '-t', 1, '-f', $file,
			$node->connstr('postgres')
		],
		0,
		[qr{number of transactions actually processed: $sessions/$sessions}],
		[qr/^(?!.*(ERROR|FATAL|aborted))/s],
		$name);
}

$node->safe_psql('postgres', q{
	SELECT queen.create_queue('work', lease => '1 hour');

	-- What was delivered, written by the transaction of the pop itself.
	CREATE TABLE delivered (id bigserial, worker int, call int, partition text,
		message_offset bigint, payload text, delivery int);

	-- The time in which a worker had a partition, from before its pop until
	-- after the commit that gave it back; and each empty answer.
	CREATE TABLE held (worker int, partition text, first_offset bigint,
		since timestamptz, until timestamptz);
	CREATE TABLE empty_answer (worker int, since timestamptz, until timestamptz);

	-- Pops until all is delivered. Each worker has one lease at most, so that of
	-- 30 partitions some are nobody's. Ways to acknowledge: by a call and a
	-- transaction of its own, by the next pop, at once.
	CREATE PROCEDURE consume(worker int, total int) LANGUAGE plpgsql
	AS $$
	DECLARE
		way int := worker % 3;
		calls int := 0;
		leases uuid[];
		lane text;
		first_offset bigint;
		since timestamptz;
		old_lane text;
		old_first_offset bigint;
		old_since timestamptz;
	BEGIN
		LOOP
			calls := calls + 1;
			old_lane := lane;
			old_first_offset := first_offset;
			old_since := since;
			since := clock_timestamp();
			WITH batch AS (
				SELECT * FROM queen.pop('work', 'g', batch => 10, max_partitions => 1,
					auto_ack => way = 2, ack => CASE way WHEN 1 THEN leases END,
					strict_ack => true)),
			logged AS (
				INSERT INTO delivered (worker, call, partition, message_offset, payload, delivery)
				SELECT consume.worker, calls, b.partition, b.message_offset, b.payload::text, b.delivery
				  FROM batch b)
			SELECT min(b.partition), min(b.message_offset),
				   array_agg(DISTINCT b.lease) FILTER (WHERE b.lease IS NOT NULL)
			  INTO lane, first_offset, leases FROM batch b;
			COMMIT;
			IF way = 1 AND old_lane IS NOT NULL THEN
				INSERT INTO held VALUES (worker, old_lane, old_first_offset, old_since, clock_timestamp());
			END IF;
			IF lane IS NULL THEN
				INSERT INTO empty_answer VALUES (worker, since, clock_timestamp());
				COMMIT;
				EXIT WHEN (SELECT count(*) FROM delivered) >= total;
			ELSIF way = 0 THEN
				IF queen.ack(leases[1]) <> 10 THEN
					RAISE EXCEPTION 'a lease was not the one of ten messages';
				END IF;
				COMMIT;
			END IF;
			IF way <> 1 AND lane IS NOT NULL THEN
				INSERT INTO held VALUES (worker, lane, first_offset, since, clock_timestamp());
			END IF;
			COMMIT;
		END LOOP;
	END $$;

	SELECT queen.push_batch('work', (SELECT json_agg(i) FROM generate_series(0, 199) i), 'p' || n)
	  FROM generate_series(1, 30) n;
	SELECT queen.subscribe('work', 'g');
});

in_sessions(8, 'CALL consume(:client_id, 6000)', 'consume');

is($node->safe_psql('postgres', q{
	SELECT count(*), count(DISTINCT (partition, message_offset)), count(DISTINCT partition),
		   min(message_offset), max(message_offset) FROM delivered
}), '6000|6000|30|0|199', 'each of 6,000 messages came exactly once');

is($node->safe_psql('postgres', q{
	SELECT count(*) FROM delivered WHERE payload <> message_offset::text OR delivery <> 1
}), '0', 'with its own body, at its first delivery');

# The ids were given while the pop's transaction held the partition.
is($node->safe_psql('postgres', q{
	SELECT count(*) FROM (
		SELECT message_offset - lag(message_offset, 1, -1::bigint) OVER (PARTITION BY partition ORDER BY id) AS step
		  FROM delivered) s
	 WHERE step <> 1
}), '0', 'in order inside each partition');

is($node->safe_psql('postgres', 'SELECT count(DISTINCT worker) FROM delivered'), '8',
	'each session got some');

# An answer is wrongly empty if all through the call some partition had
# messages and was nobody's: what it still had was taken by a pop that began
# later, and no worker's hold overlaps the call.
is($node->safe_psql('postgres', q{
	SELECT count(*) FROM empty_answer e
	 WHERE EXISTS (
		SELECT FROM (SELECT DISTINCT partition FROM delivered) p
		 WHERE EXISTS (SELECT FROM held l WHERE l.partition = p.partition AND l.since > e.until)
		   AND NOT EXISTS (SELECT FROM held h WHERE h.partition = p.partition
				AND h.since <= e.until AND h.until >= e.since))
}), '0', 'no empty answer while a free partition had messages');

is($node->safe_psql('postgres', q{
	SELECT behind, leased FROM queen.consumer_groups WHERE consumer_group = 'g'
}), '0|0', 'nothing is left behind or leased');

# Groups that begin, one after the other, each in all sessions at once: what one
# of them sees in the tables does not undo what others have done since.
$node->safe_psql('postgres', q{
	CREATE TABLE drained (consumer_group text, messages bigint);
	CREATE PROCEDURE drain(consumer_group text, total int) LANGUAGE plpgsql
	AS $$
	DECLARE
		leases uuid[];
		found bigint;
	BEGIN
		LOOP
			WITH batch AS (
				SELECT * FROM queen.pop('work', consumer_group, batch => 10, max_partitions => 1,
					ack => leases, strict_ack => true)),
			counted AS (
				INSERT INTO drained SELECT drain.consumer_group, count(*) FROM batch)
			SELECT count(*), array_agg(DISTINCT lease) FILTER (WHERE lease IS NOT NULL)
			  INTO found, leases FROM batch;
			COMMIT;
			EXIT WHEN found = 0 AND
				(SELECT sum(messages) FROM drained d WHERE d.consumer_group = drain.consumer_group) >= total;
		END LOOP;
	END $$;
});
in_sessions(8, join("\n", map { "CALL drain('d$_', 6000);" } 1 .. 10), 'drain');
is($node->safe_psql('postgres', 'SELECT count(DISTINCT consumer_group), sum(messages) FROM drained'), '10|60000',
	'ten groups that begin got all');

# Pushes and pops together, leases over several partitions.
$node->safe_psql('postgres', q{
	SELECT queen.create_queue('flow', lease => '1 hour');
	CREATE TABLE flowed (id bigserial, partition text, message_offset bigint, payload text);

	CREATE PROCEDURE flow(worker int) LANGUAGE plpgsql
	AS $$
	DECLARE
		got int;
	BEGIN
		IF worker % 2 = 0 THEN
			FOR i IN 1..150 LOOP
				PERFORM queen.push_items('flow', (
					SELECT json_agg(json_build_object('partition', 'f' || (worker + i + k * 7) % 20, 'payload', worker || '-' || i || '-' || k))
					  FROM generate_series(1, 4) k));
				COMMIT;
			END LOOP;
			RETURN;
		END IF;
		LOOP
			WITH batch AS (
				SELECT * FROM queen.pop('flow', 'g', batch => 25, max_partitions => 4)),
			logged AS (
				INSERT INTO flowed (partition, message_offset, payload)
				SELECT b.partition, b.message_offset, b.payload #>> '{}' FROM batch b ORDER BY b.message_offset),
			acked AS (
				SELECT count(*) FROM queen.ack_leases(ARRAY(SELECT DISTINCT lease FROM batch)) WHERE state <> 'completed')
			SELECT (SELECT count(*) FROM batch) INTO got FROM acked;
			COMMIT;
			EXIT WHEN got = 0 AND (SELECT count(*) FROM flowed) >= 2400;
		END LOOP;
	END $$;
});

in_sessions(8, 'CALL flow(:client_id)', 'flow');

is($node->safe_psql('postgres', q{
	SELECT count(*), count(DISTINCT (partition, message_offset)), count(DISTINCT payload) FROM flowed
}), '2400|2400|2400', 'all that was pushed meanwhile came exactly once');

is($node->safe_psql('postgres', q{
	SELECT count(*) FROM (
		SELECT message_offset - lag(message_offset, 1, -1::bigint) OVER (PARTITION BY partition ORDER BY id) AS step
		  FROM flowed) s
	 WHERE step <> 1
}), '0', 'in order inside each partition');

is($node->safe_psql('postgres', q{
	SELECT count(*) FROM (
		SELECT n - lag(n) OVER (PARTITION BY partition, worker ORDER BY message_offset) AS step
		  FROM (SELECT partition, message_offset, split_part(payload, '-', 1) AS worker,
					   split_part(payload, '-', 2)::int AS n FROM flowed) f) s
	 WHERE step < 0
}), '0', 'and each pusher in the order of its pushes');

# Twice as many partitions as sessions, so one is always free; but sessions that begin
# are slow, and all that was ready when they began to look is taken until they do.
$node->safe_psql('postgres', q{
	CREATE PROCEDURE rush(queue text) LANGUAGE plpgsql
	AS $$
	DECLARE
		leases uuid[];
	BEGIN
		FOR i IN 1 .. 50 LOOP
			leases := ARRAY(SELECT lease FROM queen.pop(queue, 'g', batch => 1, ack => leases));
			COMMIT;
		END LOOP;
	END $$;

	SELECT queen.create_queue('rush ' || i), queen.subscribe('rush ' || i, 'g') FROM generate_series(1, 10) i;
	SELECT queen.push_batch('rush ' || i, '[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]', p::text)
	  FROM generate_series(1, 10) i, generate_series(1, 16) p, generate_series(1, 10);
});
in_sessions(8, "CALL rush('rush $_')", "rush $_") foreach (1 .. 10);
is($node->safe_psql('postgres', q{
	SELECT sum(pops), sum(empty_pops) FROM queen.stat_groups WHERE queue ~ '^rush'
}), '4000|0', 'a pop that others are quicker than looks again');

is($node->safe_psql('postgres', q{
	SELECT deadlocks FROM pg_stat_database WHERE datname = 'postgres'
}), '0', 'no deadlock');

$node->stop;
done_testing();
