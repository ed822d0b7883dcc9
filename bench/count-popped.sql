-- Messages handed out: acknowledged, or in a lease still; or deleted.
SELECT :'side' = 'queen' AS queen \gset
\if :queen
	SELECT (SELECT messages FROM prepared) - behind + leased FROM queen.consumer_groups WHERE queue = 'bench';
\else
	SELECT (SELECT messages FROM prepared) - count(*) FROM plain;
\endif
