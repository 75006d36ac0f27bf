-- Each execution once, as it was last corrected, and none that was cancelled.
CREATE TEMP VIEW sent_once AS
  SELECT DISTINCT * FROM trades;

CREATE TEMP VIEW changes AS
  SELECT day, ref_exec_id, max_by(struct(exec_type, quantity, price), ts) AS last
  FROM sent_once WHERE exec_type <> 'NEW'
  GROUP BY day, ref_exec_id;

SELECT
  t.day, t.exec_id, t.order_id, t.ts, t.instrument, i.currency, t.desk, t.trader, t.counterparty,
  CASE t.side WHEN 'BUY' THEN 1 ELSE -1 END * coalesce(c.last.quantity, t.quantity) AS quantity,
  coalesce(c.last.price, t.price) AS price
FROM sent_once t
LEFT JOIN changes c ON c.day = t.day AND c.ref_exec_id = t.exec_id
LEFT JOIN instruments i ON i.instrument = t.instrument
WHERE t.exec_type = 'NEW' AND coalesce(c.last.exec_type, '') <> 'CANCEL'
