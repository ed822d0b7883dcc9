-- New, empty tables; then :batches batches of :size messages in each of
-- :partitions partitions, for one :side only, and :how: batch or single.
SELECT :'side' = 'queen' AS queen, :'how' = 'single' AS single \gset

SET client_min_messages = warning;
SET synchronous_commit = off;
SELECT setseed(0.5);
SELECT make_batch(:size) AS batch \gset

DROP EXTENSION IF EXISTS queen CASCADE;
DROP TABLE IF EXISTS plain;

CREATE EXTENSION queen;
SELECT queen.create_queue('bench');
CREATE TABLE plain (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload json NOT NULL);

\if :queen
	\if :single
		SELECT count(queen.push('bench', e.value, p::text))
		  FROM generate_series(1, :batches) AS b, generate_series(1, :partitions) AS p,
			   json_array_elements(:'batch') AS e;
	\else
		SELECT count(queen.push_batch('bench', :'batch', p::text))
		  FROM generate_series(1, :batches) AS b, generate_series(1, :partitions) AS p;
	\endif
\else
	INSERT INTO plain (payload)
	SELECT e.value
	  FROM generate_series(1, :batches) AS b, generate_series(1, :partitions) AS p,
		   json_array_elements(:'batch') AS e;
\endif

CREATE TABLE IF NOT EXISTS prepared (messages bigint);
TRUNCATE prepared;
INSERT INTO prepared SELECT :batches::bigint * :partitions * :size;
VACUUM ANALYZE;
CHECKPOINT;
