CREATE TEMP VIEW played AS SELECT DISTINCT player, date(day) AS day FROM results;
CREATE TEMP VIEW last_day AS SELECT max(day) AS last FROM played;
CREATE TEMP VIEW back AS
  SELECT p.player, date(p.day) AS joined, collect_set(datediff(played.day, p.day)) AS ages
  FROM players p LEFT JOIN played USING (player) GROUP BY p.player, date(p.day);
SELECT joined, count(*) AS players,
       IF(date_add(joined, 1) <= any_value(last), count_if(array_contains(ages, 1)), NULL) AS d1,
       IF(date_add(joined, 7) <= any_value(last), count_if(array_contains(ages, 7)), NULL) AS d7,
       IF(date_add(joined, 30) <= any_value(last), count_if(array_contains(ages, 30)), NULL) AS d30
FROM back CROSS JOIN last_day GROUP BY joined
