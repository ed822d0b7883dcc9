-- A push looks for its partition first where this session saw the row last. What
-- stands there by now may be nothing, an old version, or another partition.
\set QUIET on
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS queen;

SELECT queen.create_queue('places'), queen.create_queue('elsewhere');
CREATE FUNCTION pushed(queue text, VARIADIC partitions text[]) RETURNS TABLE (partition text, message_offset bigint)
LANGUAGE sql AS $$
SELECT p.partition, p.message_offset FROM unnest(partitions) AS n, queen.push(queue, '1', n) AS p
$$;
CREATE TEMP VIEW places AS
SELECT p.partition_id, q.name AS queue, p.name AS partition
  FROM queen.partition AS p JOIN queen.queue AS q USING (queue_id) WHERE q.name IN ('places', 'elsewhere');
-- As retention does with an idle partition, and then the server with its row.
CREATE PROCEDURE remove(gone text)
LANGUAGE sql AS $$
DELETE FROM queen.segment WHERE partition_id IN (SELECT partition_id FROM places WHERE queue = 'places' AND partition ~ gone);
DELETE FROM queen.partition WHERE partition_id IN (SELECT partition_id FROM places WHERE queue = 'places' AND partition ~ gone);
$$;

SELECT * FROM pushed('places', 'a', 'b', 'é', 'a', 'b', 'é');

-- Its version changes, with every purge.
SELECT queen.purge('places');
SELECT * FROM pushed('places', 'a', 'b', 'é');

-- A savepoint takes back the partition that was seen, and another one stands there.
BEGIN;
SAVEPOINT s;
SELECT * FROM pushed('places', 'new', 'new');
ROLLBACK TO s;
SELECT * FROM pushed('places', 'newer', 'new');
COMMIT;
SELECT * FROM pushed('places', 'new', 'newer');

-- The rows move.
VACUUM FULL queen.partition;
SELECT * FROM pushed('places', 'a', 'b', 'é', 'new', 'newer');
CLUSTER queen.partition USING partition_queue_id_name_key;
SELECT * FROM pushed('places', 'newer', 'new', 'é', 'b', 'a');

-- Another partition comes to stand there, or the one of that name in another queue.
CALL remove('^[ab]$');
VACUUM queen.partition;
SELECT * FROM pushed('elsewhere', 'a', 'c');
SELECT * FROM pushed('places', 'a', 'b', 'a', 'b');
SELECT * FROM pushed('elsewhere', 'a', 'c');

-- The table becomes shorter than it was.
SELECT count(*) FROM generate_series(1, 1000) AS n, queen.push('places', '1', 'far ' || n);
SELECT message_offset FROM queen.push('places', '1', 'far 1000');
CALL remove('^far');
VACUUM queen.partition;
SELECT * FROM pushed('places', 'far 1000', 'far 999', 'far 1000');

-- An older snapshot sees what it may, a later one what there is.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM places WHERE partition = 'a';
SELECT * FROM pushed('places', 'a');
SELECT queen.purge('places');
SELECT * FROM pushed('places', 'a', 'b');
COMMIT;

SELECT partition, count(*) FROM places WHERE queue = 'places' GROUP BY 1 HAVING count(*) > 1;

DROP PROCEDURE remove;
DROP VIEW places;
DROP FUNCTION pushed;
SELECT queen.drop_queue('places', true), queen.drop_queue('elsewhere', true);
