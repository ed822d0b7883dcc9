-- :fill messages, evenly to :spread partitions, in turn, :segment in each call.
SELECT make_batch(:segment, :bytes) AS messages \gset
SELECT count(queen.push_batch('bench', :'messages', p::text))
  FROM generate_series(1, :fill / :spread / :segment) AS b, generate_series(1, :spread) AS p;
