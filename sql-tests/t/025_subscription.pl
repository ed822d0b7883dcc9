# Logical replication writes to queen's tables behind every function: a session
# of the subscriber that keeps grants and options hears of their changes.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QueenNode;
use Test::More;

my $publisher = queen_node('publisher', '', allows_streaming => 'logical');
my $subscriber = queen_node('subscriber', '', allows_streaming => 'logical');

$_->safe_psql('postgres', q{
	CREATE ROLE app LOGIN;
	SELECT queen.create_queue('work');
	SELECT queen.grant('work', 'app', '{push}');
	SELECT queen.subscribe('work', 'g');
}) foreach $publisher, $subscriber;
$publisher->safe_psql('postgres', 'CREATE PUBLICATION tables FOR TABLE queen.queue, queen.queue_grant');
$subscriber->safe_psql('postgres',
	'CREATE SUBSCRIPTION tables CONNECTION $$' . $publisher->connstr('postgres') . '$$ PUBLICATION tables WITH (copy_data = false)');

my $session = session($subscriber);
my $push = "SELECT message_offset FROM queen.push('work', '1', 'p')";

$session->query('SET ROLE app');
is($session->query($push), '0', 'a role pushes by its grant');
$publisher->safe_psql('postgres', "SELECT queen.alter_queue('work', max_backlog => 1)");
$publisher->wait_for_catchup('tables');
is($session->query($push), 'QN003', 'an option that was replicated holds at once');
$publisher->safe_psql('postgres', "SELECT queen.revoke('work', 'app', '{push}')");
$publisher->wait_for_catchup('tables');
is($session->query($push), '42501', 'so does a grant that was taken back');
$session->quit;
$subscriber->safe_psql('postgres', 'DROP SUBSCRIPTION tables');
$_->stop foreach $publisher, $subscriber;
done_testing();
