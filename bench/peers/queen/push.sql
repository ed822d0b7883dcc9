\set p random(1, :partitions)
SELECT queen.push('bench', :payload, :p);
