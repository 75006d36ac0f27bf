-- The opening position counts as bought at yesterday's close; then come the fills of the day.
CREATE TEMP VIEW moves AS
  SELECT day, desk, instrument, quantity AS opening, 0 AS traded, quantity * price AS cost
  FROM opening
  UNION ALL
  SELECT day, desk, instrument, 0, quantity, quantity * price FROM fills;

SELECT
  day, desk, instrument,
  sum(opening) AS opening,
  sum(traded) AS traded,
  sum(opening + traded) AS quantity,
  CAST(sum(cost) AS DECIMAL(20, 4)) AS cost
FROM moves
GROUP BY day, desk, instrument
