-- One partition of :messages segments, a message and a second each: one is
-- pushed, and copied. Answers the median of 21 seeks by time.
SELECT FROM queen.push('bench', '{"a": 1}', 'p');
INSERT INTO queen.segment (partition_id, base_offset, created_at, message_count, frames)
SELECT s.partition_id, n, s.created_at + n * interval '1 s', 1, s.frames
  FROM queen.segment s JOIN queen.partition p USING (partition_id), generate_series(1, :messages - 1) n
 WHERE p.name = 'p';
VACUUM ANALYZE;
CHECKPOINT;
SELECT min(created_at) + :messages / 3 * interval '1 s' AS target FROM queen.segment \gset
SELECT set_config('bench.target', :'target', false) \g /dev/null
CREATE FUNCTION pg_temp.median_ms() RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
	took numeric[];
	began timestamptz;
BEGIN
	FOR i IN 1..21 LOOP
		began := clock_timestamp();
		PERFORM * FROM queen.seek('bench', 'g', partition => 'p', to_timestamp => current_setting('bench.target')::timestamptz);
		took := took || (extract(epoch FROM clock_timestamp() - began) * 1000)::numeric;
	END LOOP;
	RETURN (SELECT round(percentile_disc(0.5) WITHIN GROUP (ORDER BY t)::numeric, 3) FROM unnest(took) t);
END $$;
SELECT pg_temp.median_ms();
