-- Rows that came, and rows that went; ids have no holes, as nothing is rolled back.
SELECT p.came + c.came, p.came - p.here + c.came - c.here
  FROM (SELECT count(*) AS here, coalesce(pg_sequence_last_value('plain_id_seq'), 0) AS came FROM plain) AS p,
	   (SELECT count(*) AS here, coalesce(pg_sequence_last_value('copies_id_seq'), 0) AS came FROM copies) AS c;
