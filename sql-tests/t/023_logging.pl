# What a server logs of queen's work, and what event triggers are told: nothing
# beyond the client's own statements. A message, an id, a header or an error text
# that travels as a parameter stands in no log unless the server logs parameters,
# not with everything else logged and the statements inside of functions too; nor
# does it in pg_stat_activity once the call is over.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QueenNode;
use Test::More;

my $node = queen_node('main', q{
	autovacuum = off
	log_statement = all
	log_min_duration_statement = 0
	log_min_messages = debug1
	log_min_error_statement = debug1
	log_error_verbosity = verbose
	log_parameter_max_length = 0
	log_parameter_max_length_on_error = 0
	log_lock_waits = on
	log_temp_files = 0
	session_preload_libraries = auto_explain
	auto_explain.log_min_duration = 0
	auto_explain.log_nested_statements = on
	auto_explain.log_triggers = on
	queen.naptime = 100ms
	queen.deferred_buffer = 64kB
});

# From 16 on auto_explain logs parameters, if it is not told otherwise.
if ($node->pg_version >= 16)
{
	$node->append_conf('postgresql.conf', 'auto_explain.log_parameter_max_length = 0');
	$node->reload;
}

my $secret = 'hunter2';

# A call whose arguments travel as parameters. Answers what pgbench said.
my $calls = 0;
sub call
{
	my ($sql) = @_;
	my $file = $node->basedir . '/call' . ++$calls;
	my ($out, $err) = ('', '');

	PostgreSQL::Test::Utils::append_to_file($file, "$sql;\n");
	IPC::Run::run([ 'pgbench', '-n', '-M', 'extended', '-t', '1', '-f', $file,
		'-D', qq{body={"password": "$secret"}}, '-D', "text=$secret", '-D', qq{items=[{"payload": "$secret", "transactionId": "$secret", "delay": 1}]},
		'-d', $node->connstr('postgres') ], '>', \$out, '2>', \$err);
	return $out . $err;
}

# The same, which has to succeed.
sub good
{
	my ($sql) = @_;

	like(call($sql), qr/number of transactions actually processed: 1\/1/, $sql);
}

# The same, which has to fail by a SQLSTATE or words.
sub bad
{
	my ($sql, $why) = @_;

	like(call($sql), $why, "refused: $sql");
}

$node->safe_psql('postgres', q{
	CREATE TABLE seen (tag text);
	CREATE FUNCTION tell() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO seen VALUES (tg_tag); END $$;
	CREATE EVENT TRIGGER tell_start ON ddl_command_start EXECUTE FUNCTION tell();
	CREATE EVENT TRIGGER tell_end ON ddl_command_end EXECUTE FUNCTION tell();
	CREATE EVENT TRIGGER tell_drop ON sql_drop EXECUTE FUNCTION tell();
	SELECT queen.create_queue('q', retention => '1 h', dedup_window => '1 h', retry_limit => 1, retry_delay => '0'),
		   queen.create_queue('full', max_backlog => 1);
	SELECT queen.push('full', '1', 'p');
	SELECT queen.subscribe('full', 'g');
});

# Every way in.
good(q{SELECT queen.push('q', :body, 'p', :text)});
good(q{SELECT queen.push('q', :body, 'p', headers => :body::jsonb)});
good(q{SELECT queen.push_batch('q', '[' || :body || ']', 'p')});
good(q{SELECT queen.push_items('q', :items)});
good(q{SELECT queen.push_deferred('q', repeat(:text, 20000)::bytea, 'large')});
good(q{SELECT queen.push_fused('q', :body, 'p')});
good(q{SELECT queen.push('q', :body, 'later', delay => '1 ms')});
ok($node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM queen.partitions WHERE queue = 'q' AND partition = 'later' AND messages = 1}),
	'the worker moves a delayed one');

# Every way out, with error texts and reasons.
good(q{SELECT queen.nack(lease, message_offset, :text) FROM queen.pop('q', 'g', 1, 'p')});
good(q{SELECT queen.nack(lease, message_offset, :text) FROM queen.pop('q', 'g', 1, 'p')});
good(q{SELECT queen.reject(lease, message_offset, :text, :text) FROM queen.pop('q', 'g', 1, 'p')});
good(q{SELECT count(*) FROM queen.redrive('q', filter => (SELECT format('$.error == %s', to_json(:text::text))::jsonpath))});
good(q{SELECT count(*) FILTER (WHERE strpos(payload::text, :text) > 0) FROM queen.pop('q', 'g', 1000, auto_ack => true)});
good(q{SELECT queen.retain('q'), (SELECT count(*) FROM queen.maintain())});

# And refused: no room, no such queue, a duplicate key that a superuser laid, a damaged message.
bad(q{SELECT queen.push('full', :body, 'p')}, qr/full/);
bad(q{SELECT queen.push_fused('full', :body, 'p')}, qr/full/);
bad(q{SELECT queen.push('none', :body, 'p')}, qr/does not exist/);
bad(q{SELECT queen.push_items('q', :items || ']')}, qr/json/i);
$node->safe_psql('postgres', q{UPDATE queen.segment SET frames = overlay(frames PLACING '\xff'::bytea FROM 20)});
bad(q{SELECT count(*) FROM queen.pop('q', 'other', 1, 'p')}, qr/damaged|corrupt/);

is($node->safe_psql('postgres', 'SELECT count(*) FROM seen'), '0', 'event triggers are told nothing');
is($node->safe_psql('postgres', "SELECT count(*) FILTER (WHERE query LIKE '%hunter' || 2 || '%') FROM pg_stat_activity"), '0', 'pg_stat_activity shows nothing');
$node->stop;
my $log = slurp_file($node->logfile);
like($log, qr/queen\.push/, 'the log has the statements');
like($log, qr/Query Text: .*queen\.(?:partition|cursor)/, 'the log has statements inside of functions');
# What is no JSON the server's parser shows in its own words, as for type json.
my @lines = grep { /\Q$secret\E/ && !/CONTEXT:  JSON data, line/ } split(/\n/, $log);
is(scalar(@lines), 0, 'the log has nothing of a message') or diag(join("\n", @lines[0 .. ($#lines > 9 ? 9 : $#lines)]));

done_testing();
