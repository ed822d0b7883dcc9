DELETE FROM copies
 WHERE reader = :client_id
   AND id IN (SELECT id FROM copies WHERE reader = :client_id ORDER BY id FOR UPDATE SKIP LOCKED LIMIT :batch)
RETURNING id, payload;
