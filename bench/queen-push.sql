-- One message to a partition chosen at random.
\set p random(1, :partitions)
SELECT * FROM queen.push('bench', :payload, :p);
