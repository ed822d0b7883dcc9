# What the TAP tests share: nodes that preload queen, and ways to ask them.
package QueenNode;

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Exporter 'import';

our @EXPORT = qw(queen_node configure start_again sqlstate session start_client);

# The settings that every node of these tests has.
sub configure
{
	my ($node, $settings) = @_;

	$node->append_conf('postgresql.conf', "shared_preload_libraries = 'queen'");
	$node->append_conf('postgresql.conf', $settings // '');
}

# A running node with the extension in database postgres.
sub queen_node
{
	my ($name, $settings, %init) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init(extra => [ '--encoding=UTF8', '--no-locale' ], %init);
	configure($node, $settings);
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION queen');

	return $node;
}

# Starts the node, once what is left of the old one has gone.
sub start_again
{
	my ($node) = @_;

	for (my $tries = 0; $tries < 10 * $PostgreSQL::Test::Utils::timeout_default; $tries++)
	{
		my $ret = PostgreSQL::Test::Utils::system_log('pg_ctl', '-w', '-D', $node->data_dir,
			'-l', $node->logfile, '-s', 'start');

		if ($ret == 0)
		{
			$node->_update_pid(1);
			return;
		}
	}
	die 'the node does not start again';
}

# The SQLSTATE that a statement raises, or what it answers.
sub sqlstate
{
	my ($node, $sql, %params) = @_;
	my ($code, $out, $err) = $node->psql($params{database} // 'postgres',
		"\\set VERBOSITY sqlstate\n$sql", on_error_stop => 1);

	return $err =~ /(?:ERROR|FATAL):\s+(\w{5})/ ? $1 : $out;
}

# A session in the background. Its query() answers what a statement answers or
# the SQLSTATE that it raises.
sub session
{
	my ($node, $database) = @_;
	my $psql = $node->background_psql($database // 'postgres', on_error_stop => 0);

	$psql->query('\set VERBOSITY sqlstate');
	return bless { psql => $psql }, 'QueenNode::Session';
}

# A psql in the background that works through a script until its connection is
# lost. What it prints goes to files: nobody would read a pipe meanwhile, and a
# full one would stop it.
sub start_client
{
	my ($node, $database, $name, $script) = @_;
	my %client = map { $_ => $node->basedir . "/$name.$_" } ('sql', 'out', 'err');

	unlink values %client;
	append_to_file($client{sql}, $script);
	$client{run} = IPC::Run::start(
		[ 'psql', '-XAtq', '-v', 'VERBOSITY=terse', '-d', $node->connstr($database), '-f', $client{sql} ],
		'>', $client{out}, '2>', $client{err},
		IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	return bless \%client, 'QueenNode::Client';
}

package QueenNode::Client;

sub finish
{
	my ($self) = @_;

	$self->{run}->finish;
}

# What it has printed until now.
sub out
{
	my ($self) = @_;

	return PostgreSQL::Test::Utils::slurp_file($self->{out});
}

sub err
{
	my ($self) = @_;

	return PostgreSQL::Test::Utils::slurp_file($self->{err});
}

package QueenNode::Session;

# Runs a statement.
sub query
{
	my ($self, $sql) = @_;
	my $psql = $self->{psql};

	$psql->{stderr} = '';
	my $out = $psql->query($sql);
	my $err = $psql->{stderr};

	$psql->{stderr} = '';
	return $err =~ /(?:ERROR|FATAL):\s+(\w{5})/ ? $1 : $out;
}

# Sends a statement and does not wait for it; a later query() does.
sub send
{
	my ($self, $sql) = @_;

	$self->{psql}->query_until(qr/sent/, "\\echo sent\n$sql;\n");
}

sub quit
{
	my ($self) = @_;

	$self->{psql}->quit;
}

1;
