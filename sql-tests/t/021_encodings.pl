# Databases of other encodings: the same calls with names, bodies, headers and
# ids that are not ASCII give the same answers in UTF8, LATIN1 and SQL_ASCII,
# whatever the client's encoding; what an encoding does not have is refused and
# leaves nothing behind; a dump goes back into a database of its encoding.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use QueenNode;
use Test::More;

my $node = queen_node('main', 'queen.naptime = 100ms');
my %client = (UTF8 => 'UTF8', LATIN1 => 'UTF8', SQL_ASCII => 'SQL_ASCII');

foreach my $encoding (sort keys %client)
{
	$node->safe_psql('postgres', qq{CREATE DATABASE "$encoding" ENCODING '$encoding' LOCALE 'C' TEMPLATE template0});
	$node->safe_psql($encoding, 'CREATE EXTENSION queen');
}

# What a database answers, in bytes of the client's encoding.
sub answer
{
	my ($encoding, $sql) = @_;

	return $node->safe_psql($encoding, "SET client_encoding = '$client{$encoding}'; $sql");
}

my $calls = q{
	SELECT queen.create_queue('Größe'), queen.create_queue('Maß');
	SELECT partition, message_offset, status FROM queen.push('Größe', '{"é": "ñ"}', 'Straße', 'id-ü', '{"ö": "Ä"}');
	SELECT partition, message_offset, status FROM queen.push('Größe', '{"é": "other"}', 'Straße', 'id-ü');
	SELECT partition, first_offset, messages FROM queen.push_batch('Größe', '["ç", "Þ"]', 'Straße');
	SELECT partition, message_offset FROM queen.push_items('Größe', '[{"payload": "ÿ", "partition": "¡Ø", "transactionId": "þ", "headers": {"¿": 1}}]');
	SELECT partition, message_offset FROM queen.push_fused('Größe', '"fused ½"', 'Straße');
	SELECT status FROM queen.push('Größe', '"later ¾"', 'spät', 'id-½', '{"¼": 2}', '1 ms');
	SELECT partition, payload, headers, transaction_id FROM queen.pop('Größe', 'Gruppe-ø', partition => 'Straße') ORDER BY message_offset;
	SELECT queen.reject(min(lease::text)::uuid, 0, 'weil: ß', 'Fehler ±') FROM queen.pop('Größe', 'Gruppe-2ø', partition => 'Straße');
	SELECT reason, error, payload FROM queen.dead_letters;
	SELECT redriven, source, target FROM queen.redrive('Größe', 'Gruppe-2ø', '$.payload."é" == "ñ"', to_queue => 'Maß');
	SELECT payload, headers - 'queen-first-created-at' FROM queen.read('Maß', 'Straße', 0);
	SELECT partition FROM queen.seek('Größe', 'Gruppe-ø', to_end => true, partition => '¡Ø');
};
my %answers = map { $_ => answer($_, $calls) } keys %client;
is($answers{LATIN1}, $answers{UTF8}, 'LATIN1 answers as UTF8 does');
is($answers{SQL_ASCII}, $answers{UTF8}, 'so does SQL_ASCII');
like($answers{UTF8}, qr/^Straße\|0\|queued\nStraße\|0\|duplicate\nStraße\|1\|2\n¡Ø\|0\nStraße\|3\n.*"ñ".*weil: ß\|Fehler ±/ms, 'as they should');
foreach my $encoding (sort keys %client)
{
	ok($node->poll_query_until($encoding, q{SELECT count(*) = 1 FROM queen.read((SELECT max(queue) FROM queen.queues WHERE queue LIKE 'G%'), (SELECT max(partition) FROM queen.partitions WHERE partition LIKE 'sp%'), 0)}),
		"$encoding: the worker moves a delayed message");
	is(answer($encoding, q{SELECT payload, headers, transaction_id FROM queen.read('Größe', 'spät', 0)}), '"later ¾"|{"¼": 2}|id-½', '... as it was');
}

# The longest names count bytes of the database.
is(sqlstate($node, q{SET client_encoding = 'UTF8'; SELECT length(queen.create_queue(repeat('ß', 255))::text)}, database => 'LATIN1'), '0', '255 letters are 255 bytes in LATIN1');
is(sqlstate($node, q{SET client_encoding = 'UTF8'; SELECT queen.create_queue(repeat('ß', 128))}, database => 'UTF8'), '54000', '128 letters are 256 bytes in UTF8');

# What cannot be: each refused, and nothing stored.
my $before = $node->safe_psql('LATIN1', 'SELECT count(*), sum(next_offset) FROM queen.partitions');
my %refused = (
	"SET client_encoding = 'UTF8'; SELECT queen.push('Größe', '\"€\"')" => '22P05',
	"SET client_encoding = 'UTF8'; SELECT queen.push('Größe', '1', '€')" => '22P05',
	"SET client_encoding = 'UTF8'; SELECT queen.push('Größe', '1', headers => '{\"a\": \"\\u20ac\"}')" => '22P05',
	"SET client_encoding = 'UTF8'; SELECT queen.push_items('Größe', '[{\"payload\": 1, \"partition\": \"\\u20ac\"}]')" => '22P05',
);
foreach my $sql (sort keys %refused)
{
	my $state = sqlstate($node, $sql, database => 'LATIN1');

	is($state, $refused{$sql}, (split /; /, $sql)[1]);
}
is($node->safe_psql('LATIN1', q{SELECT count(*), sum(next_offset) FROM queen.partitions}), $before, 'nothing of it was stored');
# Bytes are bytes, and a body that is no text of the database cannot be pushed as JSON.
is(answer($_, q{SELECT FROM queen.push('Maß', '\xff00fe'::bytea, 'bytes'); SELECT body FROM queen.read('Maß', 'bytes', 0)}), '\xff00fe', "$_: bytes as they are")
  foreach sort keys %client;
is(sqlstate($node, q{SELECT queen.push('Maß', convert_from('\x22ff22', 'UTF8'))}, database => 'UTF8'), '22021', 'a text that is not UTF-8 does not come so far');

# A dump into a database of the same encoding.
foreach my $encoding (sort keys %client)
{
	my $dump = $node->basedir . "/$encoding.dump";
	my $all = q{SELECT queue, partition, next_offset FROM queen.partitions ORDER BY 1, 2; SELECT consumer_group, partition, committed FROM queen.cursors ORDER BY 1, 2; SELECT payload, headers, transaction_id FROM queen.read('Größe', 'Straße', 0)};

	$node->safe_psql('postgres', qq{CREATE DATABASE "$encoding copy" ENCODING '$encoding' LOCALE 'C' TEMPLATE template0});
	$node->command_ok([ 'pg_dump', '-Fc', '-f', $dump, $node->connstr($encoding) ], "$encoding: dump");
	$node->command_ok([ 'pg_restore', '--exit-on-error', '-d', $node->connstr("$encoding copy"), $dump ], "$encoding: restore");
	is($node->safe_psql("$encoding copy", "SET client_encoding = '$client{$encoding}'; $all"), answer($encoding, $all), '... and all is back');
}
$node->stop;
done_testing();
