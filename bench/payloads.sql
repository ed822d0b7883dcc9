-- A JSON array of n orders as a shop would write them, each of so many bytes
-- (100, or more than 120); numbers, names and times differ, the rest of a long
-- one is random digits.
CREATE FUNCTION make_batch(n int, bytes int DEFAULT 100) RETURNS json
LANGUAGE sql AS $$
SELECT ('[' || string_agg(CASE WHEN bytes > 120 THEN rtrim(message, '}') || ',"x":"' || left(noise, bytes - 107) || '"}'
							   ELSE message END, ',') || ']')::json
  FROM generate_series(1, n) AS i,
	   LATERAL (SELECT format('{"order":"%s","customer":"%s","sku":"%s-%s","pieces":%s,"price":%s,"at":"%s"}',
							  lpad((random() * 99999999)::int::text, 8, '0'),
							  lpad((random() * 999999)::int::text, 6, '0'),
							  chr(65 + (random() * 25)::int), lpad((random() * 9999)::int::text, 4, '0'),
							  1 + (random() * 8)::int,
							  to_char(10 + random() * 89, 'FM00.00'),
							  to_char(timestamp '2026-01-01' + random() * interval '300 days', 'MM-DD"T"HH24:MI:SS')) AS message
				 WHERE i > 0) AS m,
	   LATERAL (SELECT string_agg(md5(random()::text), '') AS noise FROM generate_series(i, i + bytes / 32)) AS r
$$;
