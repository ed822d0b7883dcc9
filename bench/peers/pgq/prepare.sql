-- A tick wherever it is asked for and an event has come.
SELECT pgq.create_queue('bench');
SELECT pgq.set_queue_config('bench', 'ticker_max_count', '1'), pgq.set_queue_config('bench', 'ticker_max_lag', '0 s');
SELECT pgq.register_consumer('bench', 'g' || g) FROM generate_series(0, :groups - 1) AS g;
