BEGIN;
SELECT pgq.next_batch('bench', 'g' || :client_id) AS batch_id \gset
SELECT ev_id, ev_data FROM pgq.get_batch_events(:batch_id);
SELECT pgq.finish_batch(:batch_id);
COMMIT;
