-- One message to a partition chosen at random, by the fusion worker.
\set p random(1, :partitions)
SELECT queen.push_fused('bench', :payload, :p);
