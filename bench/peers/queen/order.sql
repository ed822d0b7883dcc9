-- Segments that do not go on where the one before ended, or are older than it.
SELECT count(*)
  FROM (SELECT base_offset <> lag(base_offset + message_count) OVER lane OR created_at < lag(created_at) OVER lane AS wrong
		  FROM queen.segment WINDOW lane AS (PARTITION BY partition_id ORDER BY base_offset)) AS s
 WHERE wrong;
