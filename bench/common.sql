-- What pgbench's clients send: one message, and an array of them.
SELECT setseed(0.5) \g /dev/null
CREATE TABLE sample AS SELECT make_batch(:batch, :bytes) AS payloads;
ALTER TABLE sample ADD payload json;
UPDATE sample SET payload = payloads -> 0;
