-- A consumer's loop on a table: takes the oldest rows that nobody else has.
DELETE FROM plain
 WHERE id IN (SELECT id FROM plain ORDER BY id FOR UPDATE SKIP LOCKED LIMIT 100)
RETURNING id, payload;
