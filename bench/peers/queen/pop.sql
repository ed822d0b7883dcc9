-- Acknowledges what the last call handed out, and takes the next; the nil UUID
-- stands for "nothing yet".
SELECT partition, message_offset, payload, lease
  FROM queen.pop('bench', 'g0', :batch, ack => array_remove(ARRAY[:lease]::uuid[], '00000000-0000-0000-0000-000000000000')) \aset
