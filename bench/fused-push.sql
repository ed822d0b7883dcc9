-- The same by the session itself.
\set p random(1, :partitions)
SELECT queen.push('bench', :payload, :p);
