SELECT make_batch(100, :bytes) AS messages \gset
INSERT INTO plain (payload) SELECT value FROM generate_series(1, :fill / 100), json_array_elements(:'messages');
