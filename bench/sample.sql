\if :fresh
SELECT payload, payloads FROM sample \gset
\set fresh 0
\endif
