# Look before you leap, on a standby: seek with dry_run answers there what it
# answers on the primary and writes nothing; seek itself is refused with 25006.
# The history of seeks, and undo, survive a promotion and a restart.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1, extra => [ '--encoding=UTF8', '--no-locale' ]);
$primary->append_conf('postgresql.conf', "shared_preload_libraries = 'queen'");
$primary->start;
$primary->safe_psql('postgres', 'CREATE EXTENSION queen');
$primary->backup('base');

my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;

sub sqlstate
{
	my ($node, $sql) = @_;
	my ($code, $out, $err) = $node->psql('postgres', "\\set VERBOSITY sqlstate\n$sql", on_error_stop => 1);

	return $err =~ /(?:ERROR|FATAL):\s+(\w{5})/ ? $1 : $out;
}

$primary->safe_psql('postgres', q{
	SELECT queen.create_queue('work', lease => '1 hour');
	SELECT queen.push_batch('work', '[0, 1, 2, 3]', 'p');
	SELECT queen.push_batch('work', '[0, 1]', 'q');
	SELECT queen.pop('work', 'g', 1, partition => 'q');
	SELECT queen.seek('work', 'g', partition => 'p', to_offset => 3);
});
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('write'));

foreach my $target (
	'to_end => true', 'to_beginning => true', 'by => -2', "to_timestamp => '2000-01-01'",
	"partition => 'p', to_offset => 1")
{
	foreach my $group ('g', 'unknown')
	{
		my $sql = "SELECT * FROM queen.seek('work', '$group', $target, dry_run => true) ORDER BY 2";
		my $there = $primary->safe_psql('postgres', $sql);

		isnt($there, '', "$target, $group: there is an answer");
		is($standby->safe_psql('postgres', $sql), $there, '... and it is the same on the standby');
	}
}
is(sqlstate($standby, "SELECT queen.seek('work', 'g', partition => 'p', to_offset => 9, dry_run => true)"),
	'QN002', 'a position that is not there, on the standby');
is(sqlstate($standby, "SELECT queen.seek('work', 'g', to_end => true)"), '25006', 'seek on the standby');
is(sqlstate($standby, 'SELECT queen.seek_undo(1)'), '25006', 'seek_undo on the standby');
is(sqlstate($standby, "SELECT queen.replay('work', 'p', 0, 0, 'work')"), '25006', 'replay on the standby');

my $history = 'SELECT * FROM queen.seek_history';
is($standby->safe_psql('postgres', $history), $primary->safe_psql('postgres', $history),
	'the history can be read on the standby');

$primary->stop('immediate');
$standby->promote;
$standby->restart;
is($standby->safe_psql('postgres', 'SELECT partition, old_committed, new_committed FROM queen.seek_undo(1)'),
	'p|2|-1', 'undone after a failover');
cmp_ok($standby->safe_psql('postgres', "SELECT DISTINCT seek_id FROM queen.seek('work', 'g', to_end => true)"),
	'>', 1, 'an id is not given twice');
$standby->stop;
done_testing();
