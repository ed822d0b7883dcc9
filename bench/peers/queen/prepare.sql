-- All partitions exist, with a message each that no group gets.
SELECT queen.create_queue('bench');
SELECT count(*) FROM (
	SELECT queen.push_items('bench', json_agg(json_build_object('payload', p, 'partition', p::text)))
	  FROM generate_series(1, :partitions) AS p GROUP BY p / 10000) AS pushed;
SELECT queen.subscribe('bench', 'g' || g, 'new') FROM generate_series(0, :groups - 1) AS g;
