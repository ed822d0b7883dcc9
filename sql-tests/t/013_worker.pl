# The life of the worker: it finds the databases by itself and leaves them for
# those who need them empty, waits for nobody, comes back after whatever ended
# it, and stays away where it must.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QueenNode;
use Test::More;
use Time::HiRes;

my $settings = q{
	queen.naptime = 100ms
	max_prepared_transactions = 5
	restart_after_crash = on
	log_lock_waits = on
};

# A database with a queue whose messages are to go at once.
sub prepare
{
	my ($node, $database, $extension) = @_;

	$node->safe_psql($database, ($extension // 'CREATE EXTENSION queen;')
		. "SELECT queen.create_queue('work', retention => '10 ms')");
}

# A message that is pushed now is removed soon.
sub serves
{
	my ($node, $database, $name, $partition) = @_;

	$partition //= 'p';
	$node->safe_psql($database, "SELECT queen.push('work', '1', '$partition')");
	ok($node->poll_query_until($database,
			"SELECT messages = 0 FROM queen.partitions WHERE queue = 'work' AND partition = '$partition'"), $name);
}

# Process ids of ours.
sub processes
{
	my ($node, $kind, $database) = @_;

	return $node->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE backend_type = 'queen $kind'"
		. (defined $database ? " AND datname = '$database'" : ''));
}

# Makes the next pass over a database endless, and waits until a worker is in it.
sub hold_worker
{
	my ($node, $database) = @_;

	$node->safe_psql($database, q{
		CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN PERFORM pg_sleep(3600); RETURN NEW; END $$;
		SELECT queen.push('work', '1', 'p');
		CREATE TRIGGER hold BEFORE UPDATE ON queen.partition FOR EACH ROW EXECUTE FUNCTION hold();
	});
	$node->poll_query_until('postgres', "SELECT count(*) > 0 FROM pg_stat_activity"
		. " WHERE backend_type = 'queen worker' AND datname = '$database' AND wait_event = 'PgSleep'")
	  or die 'no worker came';
}

sub free_worker
{
	my ($node, $database) = @_;

	$node->safe_psql($database, q{
		BEGIN;
		SELECT queen.worker_stop();
		DROP TRIGGER hold ON queen.partition;
		DROP FUNCTION hold();
		SELECT queen.worker_start();
		COMMIT;
	});
}

# Seconds that something takes.
sub seconds
{
	my ($what) = @_;
	my $began = Time::HiRes::time();

	$what->();
	return Time::HiRes::time() - $began;
}

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init(extra => [ '--encoding=UTF8', '--no-locale' ]);
configure($node, $settings);
$node->start;

# Databases are found by themselves.
$node->safe_psql('postgres', 'CREATE DATABASE one; CREATE DATABASE "Two, three"; CREATE DATABASE none');
prepare($node, 'postgres');
prepare($node, 'one');
prepare($node, 'Two, three');
serves($node, $_, "database $_ is served") foreach ('postgres', 'one', 'Two, three');
is($node->safe_psql('one', 'SELECT count(not_running) FROM queen.worker_status'), '0', 'nothing is wrong');

# queen.databases, by ALTER SYSTEM and a reload.
$node->safe_psql('postgres', q{ALTER SYSTEM SET queen.databases = 'postgres, "Two, three"'});
$node->reload;
ok($node->poll_query_until('one', q{SELECT count(not_running) = 5 FROM queen.worker_status WHERE not_running LIKE 'queen.databases%'}),
	'a database that is not named is told why');
serves($node, 'Two, three', 'one that is named is served');
$node->safe_psql('one', q{SELECT queen.push('work', '1', 'p')});
serves($node, 'postgres', 'a pass goes by') foreach 1 .. 3;
is($node->safe_psql('one', q{SELECT messages FROM queen.partitions}), '1', 'the other one is not');
$node->safe_psql('postgres', 'ALTER SYSTEM RESET queen.databases');
$node->reload;
ok($node->poll_query_until('one', q{SELECT messages = 0 FROM queen.partitions}), 'until it is again');

# Whoever needs a database for himself gets it at once, in the middle of a pass.
$node->safe_psql('postgres', q{SET allow_in_place_tablespaces = on; CREATE TABLESPACE aside LOCATION ''});
foreach my $case (
	[ 'one', 'CREATE DATABASE copy TEMPLATE one' ], [ 'one', 'ALTER DATABASE one RENAME TO uno' ],
	[ 'uno', 'ALTER DATABASE uno SET TABLESPACE aside' ], [ 'uno', 'ALTER DATABASE uno RENAME TO one' ],
	[ 'one', 'DROP DATABASE one' ])
{
	my ($database, $statement) = @$case;

	hold_worker($node, $database);
	cmp_ok(seconds(sub { $node->safe_psql('postgres', $statement) }), '<', 4, $statement);
	next if $statement =~ /^DROP/;
	$database = $1 if $statement =~ /RENAME TO (\w+)/;
	free_worker($node, $database);
	serves($node, $database, '... and is served afterwards');
}
free_worker($node, 'copy');
serves($node, 'copy', 'so is the copy');

# It stays away until that is done.
my $session = session($node);
$session->query('BEGIN');
$session->query('ALTER DATABASE copy RENAME TO second');
serves($node, 'postgres', 'a pass goes by') foreach 1 .. 3;
is(processes($node, 'worker', 'copy'), '', 'nobody is in the database');
$session->query('COMMIT');
serves($node, 'second', 'it is served again');
$session->query('BEGIN');
$session->query('ALTER DATABASE second RENAME TO third');
$session->query('ROLLBACK');
serves($node, 'second', 'after a rollback, too');

# A lane that somebody holds, also in a prepared transaction, does not hold up the others.
$session->query('BEGIN');
$session->query(q{SELECT queen.push('work', '1', 'held')});
$node->safe_psql('postgres', q{BEGIN; SELECT queen.push('work', '1', 'prepared'); PREPARE TRANSACTION 'lane'});
serves($node, 'postgres', 'another lane is served', "lane $_") foreach 1 .. 3;
$session->query('COMMIT');
$node->safe_psql('postgres', q{COMMIT PREPARED 'lane'});
ok($node->poll_query_until('postgres', 'SELECT sum(messages) = 0 FROM queen.partitions'), 'then these are');

# A table that somebody has locked does not hold up other databases; the step is held back and told.
$session->query('BEGIN');
$session->query(q{LOCK TABLE queen.segment});
ok($node->poll_query_until('second', 'SELECT true'), 'other databases go on');
serves($node, 'second', 'and are served');
$session->query('ROLLBACK');
unlike(slurp_file($node->logfile), qr/still waiting for .*Lock on advisory/, 'no lock of queen was waited for');

# DROP EXTENSION, again and again, while passes go on.
$node->safe_psql('postgres', 'CREATE DATABASE changes');
my $fine = 0;
foreach my $round (1 .. 15)
{
	prepare($node, 'changes');
	$node->safe_psql('changes', q{SELECT count(queen.push('work', '1', 'p' || n)) FROM generate_series(1, 100) n});
	serves($node, 'changes', 'it comes to an extension that is made anew', 'p1') if $round % 5 == 0;
	my ($code) = $node->psql('changes', q{SET deadlock_timeout = '10 ms'; DROP EXTENSION queen});
	$fine++ if $code == 0;
}
is($fine, 15, 'no DROP EXTENSION failed');
unlike(slurp_file($node->logfile), qr/deadlock detected/, 'and nobody met a deadlock');
$node->safe_psql('postgres', 'DROP DATABASE changes');

# It comes back: the launcher, and a worker in the middle of a pass.
my $launcher = processes($node, 'launcher');
$node->safe_psql('postgres', "SELECT pg_terminate_backend($launcher)");
ok($node->poll_query_until('postgres', "SELECT pid <> $launcher FROM pg_stat_activity WHERE backend_type = 'queen launcher'"),
	'the launcher comes back after pg_terminate_backend');
serves($node, 'postgres', 'and does its work');
hold_worker($node, 'second');
my $worker = processes($node, 'worker', 'second');
$node->safe_psql('postgres', "SELECT pg_terminate_backend($worker)");
ok($node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $worker"), 'a worker ends');
free_worker($node, 'second');
serves($node, 'second', 'and another one comes');
# Cancelled: an error like any other; the partition is held back, the others are served.
hold_worker($node, 'second');
$node->safe_psql('postgres', 'SELECT pg_cancel_backend(' . processes($node, 'worker', 'second') . ')');
ok($node->poll_query_until('second', q{SELECT error_state = '57014' AND failures = 1 FROM queen.worker_status WHERE step = 'retention'}),
	'a step that is cancelled is told');
$node->safe_psql('second', q{DROP TRIGGER hold ON queen.partition; DROP FUNCTION hold()});
serves($node, 'second', 'another partition is served', 'other');
is($node->safe_psql('second', q{SELECT messages FROM queen.partitions WHERE partition = 'p'}), '1', 'the one that failed is held back');
$node->safe_psql('second', 'SELECT queen.worker_start()');
serves($node, 'second', 'until the worker is started anew');

# What failed is tried again when its hold ends, though the walk went on behind it: not only when all is looked at anew.
$node->safe_psql('second', q{
	CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE 'refused'; END $$;
	SELECT queen.create_queue('refused', retention => '3 s');
	SELECT queen.push('refused', '1', 'failing');
	CREATE TRIGGER refuse BEFORE UPDATE ON queen.partition FOR EACH ROW WHEN (OLD.name = 'failing') EXECUTE FUNCTION refuse();
});
ok($node->poll_query_until('second', q{SELECT failures = 1 AND error = 'refused' FROM queen.worker_status WHERE step = 'retention'}), 'a partition fails');
$node->safe_psql('second', 'DROP TRIGGER refuse ON queen.partition');
ok($node->poll_query_until('second', q{SELECT messages = 0 FROM queen.partitions WHERE queue = 'refused'}), 'and is done after its hold');

# Stopped by SQL, over a restart. The others are not.
$node->safe_psql('second', 'SELECT queen.worker_stop()');
$node->restart;
$node->safe_psql('second', q{SELECT queen.push('work', '1', 'p')});
serves($node, 'postgres', 'another database is served after a restart') foreach 1 .. 3;
is($node->safe_psql('second', q{SELECT messages FROM queen.partitions WHERE partition = 'p'}), '1', 'a stop holds over a restart');
hold_worker($node, 'postgres');
cmp_ok(seconds(sub { $node->safe_psql('postgres', 'SELECT queen.worker_stop()') }), '<', 10, 'a stop ends a pass');
ok($node->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'queen worker' AND datname = 'postgres'}), 'nobody is there when it returns');
free_worker($node, 'postgres');
$node->safe_psql($_, 'SELECT queen.worker_start()') foreach ('postgres', 'second');
serves($node, $_, 'started again') foreach ('postgres', 'second');

# A fast shutdown in the middle of a pass.
hold_worker($node, 'postgres');
cmp_ok(seconds(sub { $node->stop('fast') }), '<', 3, 'a fast shutdown is fast');
$node->start;
free_worker($node, 'postgres');
serves($node, 'postgres', 'it works after that');

# A crash: kill -9 of the launcher takes all down and up again.
$launcher = processes($node, 'launcher');
PostgreSQL::Test::Utils::system_or_bail('pg_ctl', 'kill', 'KILL', $launcher);
ok($node->poll_query_until('postgres', "SELECT pid <> $launcher FROM pg_stat_activity WHERE backend_type = 'queen launcher'"),
	'the launcher comes back after a crash');
serves($node, $_, '... and works') foreach ('postgres', 'second');

# No worker slot is free: it is told, and nothing else happens.
$node->safe_psql('postgres', 'ALTER SYSTEM SET max_worker_processes = 2');
$node->restart;
ok($node->poll_query_until('postgres', q{SELECT count(*) = 5 FROM queen.worker_status WHERE not_running = 'no background worker slot is free'}),
	'no slot is free, and the view says so');
like(slurp_file($node->logfile), qr/WARNING:  queen could not start a worker/, 'so does the log');
$node->safe_psql('postgres', 'ALTER SYSTEM RESET max_worker_processes');
$node->restart;
serves($node, 'postgres', 'with slots it works');

# In binary upgrade mode there is none of us.
$node->stop;
$node->command_ok([ 'pg_ctl', '-w', '-s', '-D', $node->data_dir, '-l', $node->logfile, '-o', '-b', 'start' ], 'start in binary upgrade mode');
$node->_update_pid(1);
is(processes($node, 'launcher'), '', 'no launcher runs');
$node->stop;
$node->start;
serves($node, 'postgres', 'but later it does');
$session->quit;
$node->stop;

# Without preloading: started by SQL, gone with the extension.
my $plain = PostgreSQL::Test::Cluster->new('plain');
$plain->init(extra => [ '--encoding=UTF8', '--no-locale' ]);
$plain->append_conf('postgresql.conf', "restart_after_crash = on\nqueen.naptime = 100ms");
$plain->start;
prepare($plain, 'postgres');
is($plain->safe_psql('postgres', 'SELECT DISTINCT not_running FROM queen.worker_status'),
	'queen is not preloaded, and queen.start_worker() was not called', 'not preloaded: the view says so');
is($plain->safe_psql('postgres', 'SELECT queen.start_worker()'), 't', 'started by SQL');
ok($plain->poll_query_until('postgres', q{SELECT count(not_running) = 0 FROM queen.worker_status}), 'it runs');
is($plain->safe_psql('postgres', 'SELECT queen.start_worker()'), 'f', 'once');
serves($plain, 'postgres', 'and works');
$plain->safe_psql('postgres', 'SELECT pg_terminate_backend(' . processes($plain, 'launcher') . ')');
serves($plain, 'postgres', 'also after pg_terminate_backend');
$launcher = processes($plain, 'launcher');
PostgreSQL::Test::Utils::system_or_bail('pg_ctl', 'kill', 'KILL', $launcher);
ok($plain->poll_query_until('postgres', "SELECT pid <> $launcher FROM pg_stat_activity WHERE backend_type = 'queen launcher'"),
	'and after a crash');
serves($plain, 'postgres', '... it works');
# No hook in a session that has not loaded the library: a pass is short enough.
$plain->safe_psql('postgres', 'CREATE DATABASE short TEMPLATE postgres');
$plain->safe_psql('postgres', 'DROP DATABASE short');
is(sqlstate($plain, "SELECT status FROM queen.push('work', '1'); CREATE DATABASE short; DROP DATABASE short; SELECT 'done'"), "queued\ndone", 'or there is one, of a library that was not preloaded');
$plain->safe_psql('postgres', 'DROP EXTENSION queen');
ok($plain->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type LIKE 'queen %'}),
	'with the extension it leaves');
prepare($plain, 'postgres');
$plain->safe_psql('postgres', 'SELECT queen.worker_start()');
serves($plain, 'postgres', 'worker_start starts it, too');
$plain->restart;
is(processes($plain, 'launcher'), '', 'a restart forgets it');
$plain->safe_psql('postgres', 'ALTER SYSTEM SET max_worker_processes = 0');
$plain->restart;
is(sqlstate($plain, 'SELECT queen.start_worker()'), '53400', 'no slot for the launcher');
$plain->stop;

# A standby: nobody before the promotion, then at once.
my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1, extra => [ '--encoding=UTF8', '--no-locale' ]);
configure($primary, $settings);
$primary->start;
prepare($primary, 'postgres');
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('write'));
is(processes($standby, 'launcher'), '', 'no launcher on a standby');
is($standby->safe_psql('postgres', 'SELECT DISTINCT not_running FROM queen.worker_status'), 'the server is a standby', 'the view says so');
is(sqlstate($standby, 'SELECT queen.start_worker()'), '25006', 'none can be started');
is(sqlstate($standby, 'SELECT queen.worker_stop()'), '25006', 'or stopped');
is(sqlstate($standby, 'SELECT queen.maintain()'), '25006', 'nor is there work by hand');
is(sqlstate($standby, q{SELECT count(*) FROM queen.retain('work', true)}), '0', 'but a look');
$primary->stop('immediate');
$standby->promote;
serves($standby, 'postgres', 'it works after the promotion');
$standby->stop;
done_testing();
