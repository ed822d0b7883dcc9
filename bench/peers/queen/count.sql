-- Messages pushed, and handed out, to all groups together.
SELECT sum(next_offset), sum(g.taken)
  FROM (SELECT sum(next_offset) AS next_offset FROM queen.partitions WHERE queue = 'bench') AS p,
	   (SELECT coalesce(sum(t.next_offset - behind + leased), 0) AS taken
		  FROM queen.consumer_groups, (SELECT sum(next_offset) AS next_offset FROM queen.partitions WHERE queue = 'bench') AS t) AS g;
