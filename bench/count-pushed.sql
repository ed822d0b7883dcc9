-- Messages that came after the preparation.
SELECT :'side' = 'queen' AS queen \gset
\if :queen
	SELECT sum(messages) - (SELECT messages FROM prepared) FROM queen.partitions WHERE queue = 'bench';
\else
	SELECT count(*) - (SELECT messages FROM prepared) FROM plain;
\endif
