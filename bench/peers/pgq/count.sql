-- Events that are kept, and those that lie before the consumers' last ticks.
SELECT (SELECT count(*) FROM pgq.event_1), (SELECT count(*)
  FROM pgq.subscription JOIN pgq.tick ON tick_queue = sub_queue AND tick_id = sub_last_tick
  JOIN pgq.event_1 ON txid_visible_in_snapshot(ev_txid, tick_snapshot));
