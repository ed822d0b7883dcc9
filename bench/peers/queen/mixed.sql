\set p random(1, :partitions)
SELECT queen.push_batch('bench', :payloads, :p);
SELECT partition, message_offset, payload FROM queen.pop('bench', 'g0', :batch, auto_ack => true);
