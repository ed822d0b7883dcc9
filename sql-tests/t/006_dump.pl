# Dump and restore: pg_dump into a fresh database, pg_dumpall into a fresh
# cluster, pg_upgrade of the cluster itself. All tables and sequences of the
# extension come back, owners and grants too, and work goes on: offsets, new ids,
# cursors, leases.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QueenNode;
use Test::More;

my $node = queen_node('main', 'max_prepared_transactions = 0');
my $dump = $node->basedir . '/dump';

$node->safe_psql('postgres', q{
	CREATE ROLE alice LOGIN;
	CREATE ROLE "Bob's" LOGIN;
	GRANT CREATE ON SCHEMA queen TO alice, "Bob's";
	SET ROLE alice;
	SELECT queen.create_queue('work', lease => '1 day', retry_limit => 1, retry_delay => '1 day', max_deliveries => 5,
		on_exhausted => 'dead_letter', max_backlog => 1000, partitions => 3);
	SELECT queen.push_batch('work', '["p0", "p1", "p2", "p3", "p4"]', 'p');
	SELECT queen.push('work', '{"b": 1.0, "a":  9007199254740993}', 'q', 'id-1', '{"h": 1}');
	SELECT queen.push('work', '\x00ff'::bytea, 'q');
	SELECT queen.push_batch('work', '["r0", "r1"]', E'r\u00e9 "''%');
	SELECT queen.subscribe('work', 'fresh', 'new');
	SELECT queen.subscribe('work', 'timed', 'timestamp', now() - interval '1 hour');
	SELECT queen.ack_messages(lease, '{1, 3}') FROM queen.pop('work', 'g', partition => 'p', batch => 4) LIMIT 1;
	SELECT queen.nack(lease, error => 'once') FROM queen.pop('work', 'g', partition => 'q', batch => 1);
	SELECT queen.reject(lease, error => 'never') FROM queen.pop('work', 'h', partition => 'q', batch => 1);
	SELECT queen.reject(lease) FROM queen.pop('work', 'h', partition => 'q', batch => 1);
	SELECT queen.redrive('work', filter => '$.error == "another"');
	SELECT queen.create_queue('known');
	SELECT queen.grant('work', 'Bob''s', '{pop,admin}');
	SELECT queen.grant('known', 'public', '{push}');
	SELECT queen.push('known', '"later"', 'delayed', 'id-2', delay => '1 day');
	SELECT count(*) FROM queen.push_items('known', (SELECT jsonb_agg(jsonb_build_object('payload', n, 'partition', 'p', 'transactionId', 'id ' || n)) FROM generate_series(1, 10000) n));
	SELECT queen.push('known', '1', 'p', 'recent');
	SET ROLE "Bob's";
	SELECT queen.create_queue('aside', max_deliveries => NULL, on_exhausted => 'drop');
	SELECT queen.push_batch('aside', '["gone"]');
	SELECT queen.purge('aside');
	SELECT queen.push_batch('aside', '["kept"]');
	SELECT queen.pause_queue('aside');
	RESET ROLE;
	ALTER SYSTEM SET queen.max_partition_locks = 32;
});
my $lease = $node->safe_psql('postgres', 'SELECT lease FROM queen.leases');

# Everything in the tables and sequences that the extension marks for dump, but for what the worker notes of itself.
sub content
{
	my ($where, $database) = @_;
	my $content = '';

	foreach my $relation (split /\n/, $where->safe_psql($database, q{
		SELECT c.oid::regclass FROM pg_extension e, unnest(e.extconfig) u(oid) JOIN pg_class c USING (oid)
		 WHERE extname = 'queen' AND c.relname <> 'worker_step' ORDER BY c.oid::regclass::text COLLATE "C"
	}))
	{
		my $rows = $relation =~ /_seq$/
		  ? "SELECT last_value, is_called FROM $relation"
		  : "SELECT t::text FROM $relation t ORDER BY t::text COLLATE \"C\"";

		$content .= "$relation\n" . $where->safe_psql($database, $rows) . "\n";
	}
	return $content;
}

my $before = content($node, 'postgres');
like($before, qr/^queen\.$_$/m, "$_ is marked for dump")
  foreach ('queue', 'queue_grant', 'partition', 'segment', 'consumer_group', 'cursor', 'dead_letter', 'dead_letter_log', 'scheduled', 'dedup', 'dedup_run',
	'dedup_due', 'scheduled_scheduled_id_seq', 'queue_queue_id_seq',
	'partition_partition_id_seq', 'consumer_group_group_id_seq', 'dead_letter_dead_letter_id_seq');

is($node->safe_psql('postgres', q{
	SELECT coalesce(string_agg(c.relname, ' '), '')
	  FROM pg_class c JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'
	  JOIN pg_extension e ON e.extname = 'queen' AND d.refobjid = e.oid
	 WHERE c.relkind IN ('r', 'p', 'S', 'm') AND c.oid <> ALL (e.extconfig)
}), '', 'no table or sequence is left out');
is($node->safe_psql('postgres', q{
	SELECT coalesce(string_agg(c.relname, ' '), '')
	  FROM pg_class c JOIN pg_extension e ON e.extname = 'queen'
	 WHERE c.relnamespace = 'queen'::regnamespace AND c.relkind IN ('r', 'p', 'S', 'm') AND c.oid <> ALL (e.extconfig)
}), '', 'nor a sequence of an identity column');

# Goes on where the dump was taken, as nothing had happened.
sub go_on
{
	my ($where, $database, $name) = @_;
	my $ask = sub { return sqlstate($where, "$_[0];", database => $database); };

	is(content($where, $database), $before, "$name: all rows and sequences are back");
	is($ask->(q{SELECT queue, owner, paused FROM queen.queues ORDER BY 1}), qq{aside|"Bob's"|t\nknown|alice|f\nwork|alice|f},
		"$name: owners are kept");
	is($ask->(q{SET ROLE alice; SELECT queen.push('aside', '1')}), '42501', "$name: and mean what they meant");
	is($ask->(q{SELECT queue, role, privilege, grantor FROM queen.grants ORDER BY 1, 3}),
		qq{known|public|push|alice\nwork|"Bob's"|admin|alice\nwork|"Bob's"|pop|alice}, "$name: so are grants");
	is($ask->(q{SET ROLE "Bob's"; SELECT queen.resume_queue('work'); SELECT queen.push('work', '1')}), '42501', "$name: and no more");
	is($ask->(qq{SELECT queen.push('work', '"p5"', 'p'), queen.push('aside', '1')}), '(p,5,queued,)|(Default,2,queued,)',
		"$name: offsets go on");
	is($ask->(q{SELECT queen.push('work', '"n0"', 'new')}), '(new,0,queued,)', "$name: a new partition is made");
	is($ask->(q{SELECT status, count(*), sum(message_offset) FROM queen.push_items('known', (SELECT jsonb_agg(jsonb_build_object('payload', n,
		'partition', 'p', 'transactionId', 'id ' || n)) FROM generate_series(101, 10100) n)) GROUP BY 1 ORDER BY 1;
		SELECT message_offset, status FROM queen.push('known', '1', 'p', 'recent')}),
		"duplicate|9900|49990050\nqueued|100|1005050\n10000|duplicate", "$name: transaction ids are remembered");
	is($ask->(q{SELECT status, scheduled_id FROM queen.push('known', '1', 'delayed', 'id-2');
		SELECT queen.reschedule(1, '0') IS NOT NULL; SELECT queen.deliver_scheduled('known');
		SELECT message_offset, payload, transaction_id FROM queen.pop('known', 'other', partition => 'delayed');
		SELECT scheduled_id FROM queen.push('known', '1', 'delayed', delay => '1 h')}),
		qq(duplicate|1\nt\n1\n0|"later"|id-2\n2), "$name: a delayed message comes");
	is($ask->(q{SELECT message_offset, payload, encode(body, 'hex'), transaction_id LIKE 'id-%', headers
		FROM queen.pop('work', 'late', partition => 'q')}),
		qq(0|{"b": 1.0, "a":  9007199254740993}||t|{"h": 1}\n1||00ff|f|), "$name: bodies are byte for byte");
	is($ask->(q{SELECT count(*) FROM queen.pop('work', 'g', partition => 'p')}), '0', "$name: a lease keeps others off");
	is($ask->(q{SELECT count(*) FROM queen.pop('work', 'g', partition => 'q')}), '0', "$name: so does a back-off");
	is($ask->("SELECT queen.ack('$lease')"), '2', "$name: a lease can be acknowledged");
	is($ask->(q{SELECT string_agg(partition || message_offset, ' ' ORDER BY partition, message_offset)
		FROM queen.pop('work', 'fresh')}), 'new0 p5', "$name: a subscription to what is new");
	is($ask->(q{SELECT count(*) FROM queen.pop('work', 'timed')}), '11', "$name: and one to a time");
	is($ask->(q{SELECT string_agg(partition || message_offset, ' ' ORDER BY partition, message_offset)
		FROM queen.pop('work', 'g', partition => 'p')}), 'p4 p5', "$name: cursors go on");
	is($ask->(q{SELECT queen.create_queue('more'); SELECT queen.reject(lease) FROM queen.pop('work', 'h', partition => 'p', batch => 1)}),
		"\ndead_letter", "$name: a new queue and a new dead letter");
	is($ask->(q{SELECT dead_letter_id, consumer_group, message_offset, error FROM queen.dead_letters ORDER BY 1}),
		"1|h|0|never\n2|h|1|\n3|h|0|", "$name: new ids are new");
	is($ask->(q{SELECT count(DISTINCT partition_id), count(*) FROM queen.partition}), '7|7', "$name: for partitions too");
	is($ask->(q{DROP EXTENSION queen}), '', "$name: the extension can be dropped");
	is($ask->(q{SELECT count(*) FROM pg_namespace WHERE nspname = 'queen'}), '0', "$name: and leaves nothing");
}

# Two formats of pg_dump, each into a database of its own.
foreach my $format ('plain', 'custom')
{
	$node->command_ok([ 'pg_dump', "--format=$format", '-f', "$dump.$format", $node->connstr('postgres') ],
		"pg_dump in format $format");
	$node->safe_psql('postgres', "CREATE DATABASE $format");
	if ($format eq 'plain')
	{
		$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr($format), '-f', "$dump.$format" ],
			"restore of $format");
	}
	else
	{
		$node->command_ok([ 'pg_restore', '--exit-on-error', '-j', '2', '-d', $node->connstr($format), "$dump.$format" ],
			"restore of $format");
	}
	is($node->safe_psql($format, q{SELECT string_agg(x::text, ' ' ORDER BY x::text COLLATE "C")
		FROM pg_namespace n, aclexplode(n.nspacl) a, LATERAL (SELECT a.grantee::regrole || ':' || a.privilege_type) y(x)
		WHERE nspname = 'queen' AND a.privilege_type = 'CREATE' AND a.grantee <> n.nspowner}), q{"Bob's":CREATE alice:CREATE},
		"$format: grants on the schema are back");
	go_on($node, $format, $format);
}

# A restore that has not ended: the worker stays out until it has.
my ($rows, $sequences) = slurp_file("$dump.plain") =~ s/^\\(un)?restrict .*$//mgr =~ /^(.*?)(^SELECT pg_catalog\.setval\(.*)/ms or die 'no sequences in the dump';
my $status = q{SELECT DISTINCT not_running FROM queen.worker_status};

$node->safe_psql('postgres', 'CREATE DATABASE half');
$node->safe_psql('half', $rows);
is($node->safe_psql('half', $status), 'the database is being restored', 'half a restore is known');
is($node->safe_psql('half', 'SELECT count(*) FROM queen.worker_step WHERE total > 0'), '0', 'the worker does nothing in it');
$node->safe_psql('half', $sequences);
is($node->safe_psql('half', $status), '', 'and its end');
is($node->safe_psql('half', "SET application_name = 'pg_restore'; $status"), 'the database is being restored',
	'a parallel restore says what it is');
$node->safe_psql('postgres', 'DROP DATABASE half WITH (FORCE)');

# The schema alone.
$node->command_ok([ 'pg_dump', '--schema-only', '-f', "$dump.schema", $node->connstr('postgres') ], 'pg_dump of the schema');
$node->safe_psql('postgres', 'CREATE DATABASE schema_only');
$node->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('schema_only'), '-f', "$dump.schema" ],
	'restore of the schema');
is($node->safe_psql('schema_only', q{SELECT count(*) FROM queen.queues}), '0', 'the schema has no queues');
is($node->safe_psql('schema_only', q{
	SELECT queen.create_queue('work');
	SELECT message_offset FROM queen.push('work', '1');
}), "\n0", 'and works');

# The whole cluster, roles included.
$node->safe_psql('postgres', 'DROP DATABASE plain; DROP DATABASE custom; DROP DATABASE schema_only');
$node->command_ok([ 'pg_dumpall', '-f', "$dump.all", '-d', $node->connstr('postgres') ], 'pg_dumpall');
is(content($node, 'postgres'), $before, 'a dump changes nothing');

my $other = PostgreSQL::Test::Cluster->new('other');
$other->init(extra => [ '--encoding=UTF8', '--no-locale' ]);
configure($other);
$other->start;
$other->command_checks_all([ 'psql', '-Xq', '-d', $other->connstr('postgres'), '-f', "$dump.all" ], 0, [qr/^/],
	[qr/^(?!.*ERROR:(?!\s+role "\S+" already exists))/s], 'restore of the cluster');
go_on($other, 'postgres', 'cluster');
$other->stop;

# The cluster's own files, by pg_upgrade. Numbers of roles may stand in a table that it carries over, not those of tables or types.
SKIP:
{
	# It wants libraries by LOAD, which on 18 looks for them in the server's own directory only.
	skip 'the library is not in $libdir', 1 if $node->psql('postgres', q{LOAD '$libdir/queen'}) != 0;

	my $new = PostgreSQL::Test::Cluster->new('new');
	my $bin = $node->config_data('--bindir');

	$new->init(extra => [ '--encoding=UTF8', '--no-locale' ]);
	configure($new);
	$node->stop;
	chdir $node->basedir;
	command_ok([ 'pg_upgrade', '--no-sync', '-b', $bin, '-B', $bin, '-d', $node->data_dir, '-D', $new->data_dir,
			'-p', $node->port, '-P', $new->port, '-s', $node->host ], 'pg_upgrade');
	$new->start;
	go_on($new, 'postgres', 'upgrade');
	$new->stop;
}

done_testing();
