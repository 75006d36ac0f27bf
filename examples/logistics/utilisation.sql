-- From one position to the next; a gap of more than two minutes is a tunnel, and counts as neither.
CREATE TEMP VIEW steps AS
  SELECT
    vehicle, to_date(ts) AS day, speed, road,
    timestampdiff(SECOND, lag(ts) OVER (PARTITION BY vehicle, to_date(ts) ORDER BY ts), ts) AS seconds
  FROM pings;

CREATE TEMP VIEW driven AS
  SELECT
    vehicle, day,
    sum(CASE WHEN road <> 'yard' THEN seconds END) / 60 AS driving_min,
    sum(CASE WHEN road = 'yard' THEN seconds END) / 60 AS standing_min,
    sum(speed * seconds) / 3600 AS km
  FROM steps WHERE seconds <= 120
  GROUP BY vehicle, day;

CREATE TEMP VIEW loads AS
  SELECT vehicle, sum(load_kg) AS load_kg FROM deliveries GROUP BY vehicle;

SELECT
  d.day, d.vehicle, v.home,
  round(d.km, 1) AS km,
  round(d.driving_min, 0) AS driving_min,
  round(d.standing_min, 0) AS standing_min,
  round(100 * d.driving_min / (d.driving_min + d.standing_min), 1) AS driving_percent,
  round(100 * l.load_kg / v.capacity_kg, 1) AS load_percent
FROM driven d JOIN vehicles v ON v.vehicle = d.vehicle JOIN loads l ON l.vehicle = d.vehicle
