-- A JSON array, each element a message, all to one partition.
SELECT * FROM queen.push_batch('bench', :payloads, '1');
