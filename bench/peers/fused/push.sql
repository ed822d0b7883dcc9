\set p random(1, :partitions)
SELECT queen.push_fused('bench', :payload, :p);
