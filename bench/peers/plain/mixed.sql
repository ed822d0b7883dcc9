INSERT INTO plain (payload) SELECT value FROM json_array_elements(:payloads);
DELETE FROM plain
 WHERE id IN (SELECT id FROM plain ORDER BY id FOR UPDATE SKIP LOCKED LIMIT :batch)
RETURNING id, payload;
