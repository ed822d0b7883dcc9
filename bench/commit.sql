-- The smallest transaction that has to be flushed.
SELECT pg_logical_emit_message(true, 'bench', '');
