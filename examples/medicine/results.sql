CREATE TEMP VIEW converted AS
  SELECT l.subject, l.sample, l.code, round(l.value * u.factor + u.offset, 2) AS value, l.taken,
         l.value AS reported, l.unit AS reported_unit
  FROM labs l LEFT JOIN units u ON u.code = l.code AND u.unit = l.unit;

SELECT
  v.subject, v.sample, v.code, c.name, v.value, c.unit,
  CASE WHEN v.value < c.low THEN 'low' WHEN v.value > c.high THEN 'high' ELSE 'normal' END AS flag,
  v.taken, v.reported, v.reported_unit, c.least, c.most
FROM converted v JOIN codes c ON c.code = v.code
