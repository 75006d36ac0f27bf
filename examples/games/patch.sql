-- Who joined a week before the launch came back for the launch: that says nothing about the patch.
CREATE TEMP VIEW sides AS
  SELECT joined >= ${patch} AS after, players, d7 FROM retention
  WHERE d7 IS NOT NULL AND date_add(joined, 7) <> ${launch};
CREATE TEMP VIEW totals AS
  SELECT sum(players) FILTER (WHERE NOT after) AS n0, sum(d7) FILTER (WHERE NOT after) AS x0,
         sum(players) FILTER (WHERE after) AS n1, sum(d7) FILTER (WHERE after) AS x1 FROM sides;
-- Two shares, one spread: as if there were no difference.
CREATE TEMP VIEW measured AS
  SELECT *, (x1 / n1 - x0 / n0) / sqrt(share * (1 - share) * (1 / n0 + 1 / n1)) AS z
  FROM (SELECT *, (x0 + x1) / (n0 + n1) AS share FROM totals);
SELECT n0 AS joined_before, round(100 * x0 / n0, 2) AS d7_before,
       n1 AS joined_after, round(100 * x1 / n1, 2) AS d7_after, round(z, 2) AS z,
       CASE WHEN z < -2.6 THEN 'it hurt' WHEN z > 2.6 THEN 'it helped' ELSE 'no difference' END AS verdict
FROM measured
