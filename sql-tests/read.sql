-- read: messages are looked at without a group and without a lease.
\set QUIET on
\pset format unaligned
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS queen;
CREATE FUNCTION pg_temp.fails(command text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE command;
	RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ': ' || SQLERRM;
END $$;
RESET client_min_messages;
\set QUIET off
SELECT queen.create_queue('look');
SELECT FROM queen.push('look', '{"a":  1}', 'p', 'tx', '{"h": 1}') a, queen.push('look', '\x00ff'::bytea, 'p') b, queen.push_batch('look', '[2, 3, 4]', 'p') c;
SELECT message_offset, payload, headers, regexp_replace(transaction_id, '^[0-9]+-', 'partition-') AS tx, created_at <= clock_timestamp() AS at, body, consumer_group FROM queen.read('look', 'p');
SELECT message_offset FROM queen.read('look', 'p', 3);
SELECT message_offset FROM queen.read('look', 'p', 1, 2);
SELECT message_offset FROM queen.read('look', 'p', from_offset => -9223372036854775808, max => 1);
SELECT count(*) FROM queen.read('look', 'p', 5);
SELECT count(*) FROM queen.read('look', 'p', 9223372036854775807);
SELECT count(*) FROM queen.read('look', 'nowhere');
-- Nothing is written, no group is made; what is popped and acknowledged is still there.
SELECT count(*) FROM queen.consumer_groups;
SELECT count(*) FROM queen.pop('look', 'g', auto_ack => true);
BEGIN READ ONLY;
SELECT count(*) FROM queen.read('look', 'p');
COMMIT;
-- A message that was sent back tells for whom; one whose group is gone, nobody.
SELECT FROM queen.push('look', '5', 'p');
SELECT queen.reject(lease) FROM queen.pop('look', 'g');
SELECT count(*) FROM queen.redrive('look');
SELECT message_offset, payload, consumer_group FROM queen.read('look', 'p', 5);
SELECT queen.unsubscribe('look', 'g');
SELECT message_offset, consumer_group = '' AS nobody FROM queen.read('look', 'p', 5);
-- After a purge, from the oldest that is kept.
SELECT queen.purge('look');
SELECT FROM queen.push('look', '6', 'p');
SELECT message_offset, payload FROM queen.read('look', 'p');
SELECT pg_temp.fails(command) FROM unnest(array['SELECT queen.read(NULL, ''p'')', 'SELECT queen.read(''look'', NULL)', 'SELECT queen.read(''look'', ''p'', NULL)', 'SELECT queen.read(''look'', ''p'', 0, NULL)',
	'SELECT queen.read(''look'', ''p'', max => 0)', 'SELECT queen.read(''look'', ''p'', max => 1000001)', 'SELECT queen.read(''none'', ''p'')', 'SELECT queen.read(''look'', '''')']) command;
UPDATE queen.segment SET frames = set_byte(frames, 30, get_byte(frames, 30) # 1) WHERE partition_id = (SELECT partition_id FROM queen.partitions WHERE queue = 'look');
SELECT pg_temp.fails('SELECT queen.read(''look'', ''p'')');
SELECT queen.drop_queue('look', "cascade" => true);
