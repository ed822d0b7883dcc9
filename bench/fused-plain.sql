-- One row.
\set p random(1, :partitions)
INSERT INTO plain (payload) VALUES (:payload);
