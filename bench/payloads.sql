-- Functions that make messages: JSON arrays of n objects of 100 bytes each.

-- An order as a shop would write it; numbers, names and times differ.
CREATE FUNCTION make_batch(n int) RETURNS json
LANGUAGE sql AS $$
SELECT json_agg(format('{"order":"%s","customer":"%s","sku":"%s-%s","pieces":%s,"price":%s,"at":"%s"}',
					   lpad((random() * 99999999)::int::text, 8, '0'),
					   lpad((random() * 999999)::int::text, 6, '0'),
					   chr(65 + (random() * 25)::int), lpad((random() * 9999)::int::text, 4, '0'),
					   1 + (random() * 8)::int,
					   to_char(10 + random() * 89, 'FM00.00'),
					   to_char(timestamp '2026-01-01' + random() * interval '300 days', 'MM-DD"T"HH24:MI:SS'))::json)
  FROM generate_series(1, n)
$$;

-- What hardly can be compressed.
CREATE FUNCTION make_random_batch(n int) RETURNS json
LANGUAGE sql AS $$
SELECT json_agg(json_build_object('x', md5(random()::text) || md5(random()::text) || left(md5(random()::text), 28)))
  FROM generate_series(1, n)
$$;
