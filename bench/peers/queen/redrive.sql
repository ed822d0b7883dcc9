-- :messages dead letters in 100 partitions: one is made, and copied. Answers how
-- long one call takes that sends all of them back, commit included.
SELECT FROM queen.push_items('bench', (SELECT json_agg(json_build_object('payload', p, 'partition', 'p' || p)) FROM generate_series(1, 100) p));
SELECT queen.reject(lease) FROM (SELECT DISTINCT lease FROM queen.pop('bench', 'g', 1000)) AS l;
INSERT INTO queen.dead_letter (queue_id, partition_id, group_id, partition_name, group_name, message_offset, transaction_id,
	payload, body, headers, reason, error, failures, deliveries, created_at, dead_at, first_created_at, redriven_from)
SELECT queue_id, partition_id, group_id, partition_name, group_name, message_offset, 'copy-' || d.dead_letter_id || '-' || n,
	   (SELECT payload FROM sample), NULL, headers, reason, error, failures, deliveries, created_at, dead_at, first_created_at, redriven_from
  FROM queen.dead_letter d, generate_series(1, :messages / 100 - 1) n WHERE partition_name LIKE 'p%';
VACUUM ANALYZE;
CHECKPOINT;
SELECT count(*) AS letters FROM queen.dead_letter \gset
SELECT clock_timestamp() AS began \gset
SELECT count(*) FILTER (WHERE redriven) AS redriven FROM queen.redrive('bench', 'g') \gset
SELECT round((extract(epoch FROM clock_timestamp() - :'began'::timestamptz) * 1000)::numeric, 1) AS ms \gset
SELECT :letters = :redriven AND (SELECT count(*) FROM queen.dead_letters) = 0 AS good \gset
\if :good
	SELECT :ms;
\else
	\warn 'not all were redriven'
	SELECT 1 / 0;
\endif
