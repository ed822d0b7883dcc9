# Who may call what: each kind of role logs in and calls each function and
# procedure of schema queen. Where its rights suffice that succeeds, where they do
# not it is refused, by one SQLSTATE and no other. The list of functions is the
# catalog's, so one that has no call here fails the test.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QueenNode;
use Test::More;

my $node = queen_node('main', q{autovacuum = off});

# What each role has; the owner's members differ in whether they inherit.
my %roles = (
	nobody => [],
	creator => ['create'],
	pusher => ['push'],
	popper => ['pop'],
	reader => ['read'],
	admin => [ 'read', 'admin' ],
	owner => [ 'create', 'push', 'pop', 'read', 'admin', 'owner' ],
	member => [ 'create', 'push', 'pop', 'read', 'admin', 'owner' ],
	apart => [],
	super => [ 'create', 'push', 'pop', 'read', 'admin', 'owner', 'super' ],
);

# What each function needs, a call of it, and the SQLSTATE for whoever lacks that:
# 42501, but for what is addressed by a number, which is unknown to him.
my %calls = (
	'payload' => [ anybody => q{SELECT queen.payload('1'::text)} ],
	'has_privilege' => [ anybody => q{SELECT queen.has_privilege('nobody', 'shop', 'push')} ],
	'reset_envelope' => [ anybody => q{SELECT queen.reset_envelope('{}')} ],
	'is_replay' => [ anybody => q{SELECT queen.is_replay('{}')} ],
	'create_queue' => [ create => q{SELECT queen.create_queue('new')} ],
	'set_owner' => [ owner => q{SELECT queen.set_owner('shop', 'owner')} ],
	'push' => [ push => q{SELECT queen.push('shop', '1', 'p')} ],
	'push_batch' => [ push => q{SELECT queen.push_batch('shop', '[1]', 'p')} ],
	'push_items' => [ push => q{SELECT queen.push_items('shop', '[{"payload": 1}]')} ],
	'push_fused' => [ push => q{SELECT queen.push_fused('shop', '1', 'fused')} ],
	'push_deferred' => [ push => q{SELECT queen.push_deferred('shop', '1', 'p')} ],
	'push_row' => [ push => q{INSERT INTO orders VALUES (1)} ],
	'cancel_scheduled' => [ push => q{SELECT queen.cancel_scheduled(:scheduled)} ],
	'reschedule' => [ push => q{SELECT queen.reschedule(:scheduled, '1 h')} ],
	'pop' => [ pop => q{SELECT queen.pop('shop')} ],
	'wait' => [ pop => q{CALL queen.wait('shop', 'default', '0')} ],
	'subscribe' => [ pop => q{SELECT queen.subscribe('shop', 'mine')} ],
	'ack' => [ pop => q{SELECT queen.ack(:'lease')} ],
	'ack_messages' => [ pop => q{SELECT queen.ack_messages(:'lease', '{0}')} ],
	'ack_leases' => [ pop => q{SELECT queen.ack_leases(ARRAY[:'lease']::uuid[])} ],
	'nack' => [ pop => q{SELECT queen.nack(:'lease', 0, 'x')} ],
	'reject' => [ pop => q{SELECT queen.reject(:'lease', 0, 'x')} ],
	'release' => [ pop => q{SELECT queen.release(:'lease')} ],
	'renew' => [ pop => q{SELECT queen.renew(:'lease', '1 min')} ],
	'read' => [ read => q{SELECT queen.read('shop', 'p')} ],
	'replay' => [ read => q{SELECT queen.replay('shop', 'p', 0, 0, 'open')} ],
	'dead_letter_envelope' => [ read => q{SELECT queen.dead_letter_envelope(:dead_letter)}, '42704' ],
	'alter_queue' => [ admin => q{SELECT queen.alter_queue('shop', retry_limit => 3)} ],
	'reset_queue_option' => [ admin => q{SELECT queen.reset_queue_option('shop', 'retry_limit')} ],
	'pause_queue' => [ admin => q{SELECT queen.pause_queue('shop')} ],
	'resume_queue' => [ admin => q{SELECT queen.resume_queue('shop')} ],
	'purge' => [ admin => q{SELECT queen.purge('shop')} ],
	'drop_queue' => [ admin => q{SELECT queen.drop_queue('shop', true)} ],
	'grant' => [ admin => q{SELECT queen.grant('shop', 'nobody', '{read}')} ],
	'revoke' => [ admin => q{SELECT queen.revoke('shop', 'nobody', '{read}')} ],
	'deliver_scheduled' => [ admin => q{SELECT queen.deliver_scheduled('shop')} ],
	'purge_dedup' => [ admin => q{SELECT queen.purge_dedup('shop')} ],
	'unsubscribe' => [ admin => q{SELECT queen.unsubscribe('shop', 'g')} ],
	'seek' => [ admin => q{SELECT queen.seek('shop', 'g', to_end => true)} ],
	'seek_undo' => [ admin => q{SELECT queen.seek_undo(:seek)} ],
	'redrive' => [ 'admin push' => q{SELECT queen.redrive('shop')} ],
	'redrive_ids' => [ 'admin push' => q{SELECT 1 / count(*) FROM queen.redrive_ids(ARRAY[:dead_letter]) WHERE redriven}, '22012' ],
	'redrive_summary' => [ 'admin push' => q{SELECT queen.redrive_summary('shop')} ],
	'redrive_in_steps' => [ 'admin push' => q{CALL queen.redrive_in_steps('shop', filter => 'false')} ],
	'purge_dead_letters' => [ admin => q{SELECT queen.purge_dead_letters('shop', "all" => true)} ],
	'retain' => [ admin => q{SELECT queen.retain('shop')} ],
	'reset_stats' => [ admin => q{SELECT queen.reset_stats('shop')} ],
	'maintain' => [ super => q{SELECT queen.maintain()} ],
	'start_worker' => [ super => q{SELECT queen.start_worker()} ],
	'worker_stop' => [ super => q{SELECT queen.worker_stop()} ],
	'worker_start' => [ super => q{SELECT queen.worker_start()} ],
);

# A procedure commits, so it cannot be undone either.
my %alone = map { $_ => 1 } qw(wait redrive_in_steps);

$node->safe_psql('postgres', join(' ', map { "CREATE ROLE $_ LOGIN;" } grep { $_ ne 'super' } keys %roles));
$node->safe_psql('postgres', q{
	CREATE ROLE super LOGIN SUPERUSER;
	ALTER ROLE apart NOINHERIT;
	GRANT owner TO member, apart;
	GRANT USAGE, CREATE ON SCHEMA queen TO owner, creator;
	CREATE TABLE orders (id int);
	GRANT INSERT ON orders TO PUBLIC;
	CREATE TRIGGER push AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION queen.push_row('shop');
	SET ROLE owner;
	SELECT queen.create_queue('shop', retry_limit => 0), queen.create_queue('open');
	SELECT queen.grant('shop', p || 'er', ARRAY[p]) FROM unnest('{push,read}'::text[]) p;
	SELECT queen.grant('shop', 'popper', '{pop}'), queen.grant('shop', 'admin', '{admin}'), queen.grant('open', 'public', '{push}');
	SELECT queen.push('shop', '1', 'p'), queen.push('shop', '2', 'p'), queen.push('shop', '3', 'later', delay => '1 day');
	SELECT queen.reject(lease, message_offset, 'x') FROM queen.pop('shop', 'g', 1, 'p');
	SELECT queen.seek('shop', 'g', to_end => true);
});
my %known = (
	lease => $node->safe_psql('postgres', q{SELECT lease FROM queen.pop('shop', 'leases', 2, 'p', lease_time => '1 h') LIMIT 1}),
	scheduled => $node->safe_psql('postgres', 'SELECT max(scheduled_id) FROM queen.scheduled'),
	dead_letter => $node->safe_psql('postgres', 'SELECT max(dead_letter_id) FROM queen.dead_letter'),
	seek => $node->safe_psql('postgres', 'SELECT max(seek_id) FROM queen.seek_history'),
);
is(scalar(grep { $_ eq '' } values %known), 0, 'there is something to call with');

# All functions but those that PostgreSQL or the views call.
my @names = split(/\n/, $node->safe_psql('postgres', q{
	SELECT DISTINCT proname FROM pg_proc
	 WHERE pronamespace = 'queen'::regnamespace AND proname !~ '^_' AND proname NOT IN ('payload_in', 'payload_out') ORDER BY 1}));
is(join(' ', sort keys %calls), join(' ', sort @names), 'every function has a call');

# A role's session, which tells the SQLSTATE of each call; each is undone.
sub outcomes
{
	my ($role) = @_;
	my $script = "\\set ON_ERROR_STOP off\n";
	my ($out, $err);

	foreach my $name (sort keys %calls)
	{
		my $call = $calls{$name}[1] . ";\n\\echo $name :SQLSTATE\n";

		$script .= $alone{$name} ? $call : "BEGIN;\n$call" . "ROLLBACK;\n";
	}
	IPC::Run::run([ 'psql', '-X', '-q', '-A', '-t', '-d', $node->connstr('postgres'), '-U', $role, map { ('-v', "$_=$known{$_}") } sort keys %known ],
		'<', \$script, '>', \$out, '2>', \$err);
	return map { /^(\w+) (\w{5})$/ ? ($1 => $2) : () } split(/\n/, $out);
}

foreach my $role (sort keys %roles)
{
	my %has = map { $_ => 1 } 'anybody', @{ $roles{$role} };
	my %got = outcomes($role);

	foreach my $name (sort keys %calls)
	{
		my ($needs, undef, $refusal) = @{ $calls{$name} };
		my $may = !grep { !$has{$_} } split(/ /, $needs);

		is($got{$name}, $may ? '00000' : $refusal // '42501', "$role may " . ($may ? '' : 'not ') . "call $name");
	}
}

done_testing();
