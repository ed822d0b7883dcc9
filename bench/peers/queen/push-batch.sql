\set p random(1, :partitions)
SELECT queen.push_batch('bench', :payloads, :p);
