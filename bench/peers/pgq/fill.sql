-- A tick after each :batch messages: a consumer gets what lies between two of them.
SELECT set_config('bench.messages', make_batch(:batch, :bytes)::text, false), set_config('bench.batches', (:fill / :batch)::text, false) \g /dev/null
DO $$
BEGIN
	FOR i IN 1 .. current_setting('bench.batches')::int LOOP
		PERFORM pgq.insert_event('bench', 'order', value::text) FROM json_array_elements(current_setting('bench.messages')::json);
		COMMIT;
		PERFORM pgq.ticker('bench');
		COMMIT;
	END LOOP;
END $$;
