SELECT count(pgq.insert_event('bench', 'order', value::text)) FROM json_array_elements(:payloads);
SELECT pgq.ticker('bench');
BEGIN;
SELECT pgq.next_batch('bench', 'g0') AS batch_id \gset
SELECT ev_id, ev_data FROM pgq.get_batch_events(:batch_id);
SELECT pgq.finish_batch(:batch_id);
COMMIT;
