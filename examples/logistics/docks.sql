CREATE TEMP VIEW standing AS
  SELECT
    t.vehicle, t.site, t.arrived AS since, t.left_at IS NULL AS still_there,
    timestampdiff(MINUTE, t.arrived, coalesce(t.left_at, n.now)) AS minutes
  FROM stays t CROSS JOIN (SELECT max(ts) AS now FROM pings) n;

SELECT s.vehicle, s.site, w.owner, s.since, s.minutes, s.still_there
FROM standing s
JOIN sites w ON w.site = s.site
JOIN deliveries d ON d.vehicle = s.vehicle AND d.site = s.site
WHERE s.minutes > d.service_min + ${patience}
