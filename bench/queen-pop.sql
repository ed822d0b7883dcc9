-- A consumer's loop: acknowledges what the last call handed out, takes the next.
SELECT partition, message_offset, payload, ARRAY[lease] AS lease
  FROM queen.pop('bench', batch => 100, ack => :lease) \aset
