-- An as-of join: fills and quotes on one line of time; each fill takes the last quote before it.
CREATE TEMP VIEW timeline AS
  SELECT day, instrument, ts, 0 AS rank, bid, ask, CAST(NULL AS STRING) AS exec_id FROM quotes
  UNION ALL
  SELECT day, instrument, ts, 1, NULL, NULL, exec_id FROM fills;

CREATE TEMP VIEW quoted AS
  SELECT
    day, exec_id,
    last_value(bid) IGNORE NULLS OVER before AS bid,
    last_value(ask) IGNORE NULLS OVER before AS ask
  FROM timeline
  WINDOW before AS (
    PARTITION BY day, instrument ORDER BY ts, rank, exec_id
    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
  );

SELECT
  f.*, q.bid, q.ask,
  CAST((q.bid + q.ask) / 2 AS DECIMAL(18, 4)) AS mid,
  CAST((f.price - (q.bid + q.ask) / 2) * f.quantity AS DECIMAL(20, 2)) AS slippage
FROM fills f JOIN quoted q USING (day, exec_id)
