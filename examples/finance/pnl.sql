-- Marked at the closing price, or while there is none at the middle of the last quote.
CREATE TEMP VIEW latest AS
  SELECT day, instrument, max_by(CAST((bid + ask) / 2 AS DECIMAL(18, 4)), ts) AS mid
  FROM quotes GROUP BY day, instrument;

CREATE TEMP VIEW marks AS
  SELECT p.*, coalesce(c.close, l.mid) AS mark,
         CASE WHEN c.close IS NULL THEN 'quote' ELSE 'close' END AS marked_at
  FROM positions p
  LEFT JOIN closes c ON c.day = p.day AND c.instrument = p.instrument
  LEFT JOIN latest l ON l.day = p.day AND l.instrument = p.instrument;

SELECT
  m.day, m.desk, m.instrument, i.currency, m.quantity, m.mark, m.marked_at,
  CAST(m.quantity * m.mark - m.cost AS DECIMAL(20, 2)) AS pnl,
  CAST(CAST(m.quantity * m.mark - m.cost AS DECIMAL(20, 4)) * r.to_eur AS DECIMAL(20, 2)) AS pnl_eur,
  CAST(CAST(m.quantity * m.mark AS DECIMAL(20, 4)) * r.to_eur AS DECIMAL(20, 2)) AS value_eur
FROM marks m
LEFT JOIN instruments i ON i.instrument = m.instrument
LEFT JOIN currencies r ON r.currency = i.currency
