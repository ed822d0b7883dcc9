# A snapshot is held open in another session, so that no dead row can go, while
# 20,000 messages are pushed, popped and acknowledged on one partition, each
# cycle in a transaction of its own. The last 2,000 cycles cost hardly more
# buffers than the first 2,000, and the newest row of the cursor is found in as
# few as ever.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QueenNode;
use Test::More;

my $rounds = 10;
my $cycles = 2000;

# Without autovacuum, whose buffers would be counted along.
my $node = queen_node('main', q{
	autovacuum = off
	shared_buffers = 128MB
	synchronous_commit = off
});

$node->safe_psql('postgres', q{
	SELECT queen.create_queue('work');
	SELECT queen.push('work', '"first"', 'p');
	SELECT count(*) FROM queen.pop('work', 'g', auto_ack => true);
	VACUUM ANALYZE queen.segment, queen.cursor;

	CREATE PROCEDURE cycle(cycles int) LANGUAGE plpgsql
	AS $$
	DECLARE
		popped record;
	BEGIN
		FOR i IN 1 .. cycles LOOP
			PERFORM queen.push('work', to_json(i), 'p');
			SELECT * INTO STRICT popped FROM queen.pop('work', 'g', batch => 10);
			IF queen.ack(popped.lease) <> 1 OR popped.payload::text <> i::text THEN
				RAISE EXCEPTION 'cycle % went wrong', i;
			END IF;
			COMMIT;
		END LOOP;
	END $$;
});

my $holder = session($node);
$holder->query('BEGIN ISOLATION LEVEL REPEATABLE READ');
is($holder->query('SELECT count(*) FROM queen.cursors'), '1', 'a snapshot is held');

# Buffers of queen's tables, indexes and TOAST that were looked at so far.
sub buffers
{
	return $node->safe_psql('postgres', q{
		SELECT sum(coalesce(heap_blks_hit, 0) + coalesce(heap_blks_read, 0) + coalesce(idx_blks_hit, 0) + coalesce(idx_blks_read, 0) +
				   coalesce(toast_blks_hit, 0) + coalesce(toast_blks_read, 0) + coalesce(tidx_blks_hit, 0) + coalesce(tidx_blks_read, 0))
		  FROM pg_statio_all_tables WHERE schemaname = 'queen'
	});
}

# Buffers that one statement looks at.
sub cost
{
	my ($sql) = @_;
	my $plan = $node->safe_psql('postgres', "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) $sql");
	my ($hit) = $plan =~ /"Shared Hit Blocks": (\d+)/;
	my ($read) = $plan =~ /"Shared Read Blocks": (\d+)/;

	return $hit + $read;
}

# The newest row of the cursor, by one step back on the primary key.
sub newest
{
	my $sql = q{SELECT * FROM queen.cursor WHERE partition_id = 1 AND group_id = 1 ORDER BY version DESC LIMIT 1};

	# A fresh session's first look may set hint bits; the second one is counted.
	cost("$sql");
	return cost($sql);
}

my @costs;
my @newest = (newest());
foreach my $round (1 .. $rounds)
{
	my $before = buffers();

	# A backend reports its figures when it ends, at the latest.
	$node->safe_psql('postgres', "CALL cycle($cycles)");
	push @costs, buffers() - $before;
	push @newest, newest();
}
note("buffers a cycle: @{[map { sprintf '%.1f', $_ / $cycles } @costs]}; for the newest row: @newest");

is($node->safe_psql('postgres', q{SELECT committed, next_offset, behind FROM queen.cursors}),
	$rounds * $cycles . '|' . ($rounds * $cycles + 1) . '|0', 'all cycles were made');
cmp_ok($node->safe_psql('postgres', 'SELECT count(*) FROM queen.cursor'), '<', 64,
	'old versions of the cursor are removed as it goes');
cmp_ok($costs[0], '>', 5 * $cycles, 'the buffers were counted');
cmp_ok($costs[-1], '<=', 1.25 * $costs[0], 'the last 2,000 cycles cost at most 1.25 times the first 2,000');
cmp_ok($newest[-1], '<=', 8, 'the newest row of the cursor is found in a few buffers');
cmp_ok($newest[-1], '<=', $newest[1] + 1, 'as few as at the beginning, but for a level of the index');
is($holder->query('SELECT committed FROM queen.cursors'), '0', 'the snapshot was held all the time');

# A session that knows nothing of what went before pays no more either.
my $pop = q{SELECT * FROM queen.pop('work', 'g', partition => 'p')};
cmp_ok(cost($pop), '<', 1000, 'a first pop in a new session costs no scan');

$holder->query('COMMIT');
$holder->quit;
$node->stop;
done_testing();
