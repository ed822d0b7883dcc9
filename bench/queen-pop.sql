-- A consumer's loop: acknowledges what the last call handed out, takes the next.
-- The nil UUID stands for "nothing yet".
SELECT partition, message_offset, payload, lease
  FROM queen.pop('bench', batch => 100,
				 ack => array_remove(ARRAY[:lease]::uuid[], '00000000-0000-0000-0000-000000000000')) \aset
