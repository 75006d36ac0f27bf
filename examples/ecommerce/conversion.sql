-- Visits of people, not of robots, and whether they paid. sessions has what came in time; clicks has all,
-- also what came when the visit was written already.
CREATE TEMP VIEW visits AS
  SELECT date(start) AS day, campaign, visitor, device, start, end, pays > 0 AS in_time
  FROM sessions WHERE views < 100;
CREATE TEMP VIEW payments AS
  SELECT DISTINCT event_id, visitor, device, campaign, ts FROM clicks WHERE step = 'pay';
CREATE TEMP VIEW judged AS
  SELECT v.day, v.campaign, v.visitor, v.start, any_value(in_time) AS in_time,
         any_value(in_time) OR count(event_id) > 0 AS after_all
  FROM visits v LEFT JOIN payments p
    ON v.visitor = p.visitor AND v.device = p.device AND v.campaign = p.campaign
   AND p.ts BETWEEN v.start AND v.end
  GROUP BY v.day, v.campaign, v.visitor, v.device, v.start;
CREATE TEMP VIEW daily AS
  SELECT day, campaign, count(*) AS visits, count_if(in_time) AS paid, count_if(after_all) AS paid_after_all
  FROM judged GROUP BY day, campaign;
-- The usual is what all days before had, of the same campaign.
CREATE TEMP VIEW usual AS
  SELECT *, sum(paid_after_all) OVER before / sum(visits) OVER before AS usual
  FROM daily WINDOW before AS (PARTITION BY campaign ORDER BY day ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING);
CREATE TEMP VIEW measured AS
  SELECT *, try_divide(paid / visits - usual, sqrt(usual * (1 - usual) / visits)) AS z,
         try_divide(paid_after_all / visits - usual, sqrt(usual * (1 - usual) / visits)) AS z_after_all
  FROM usual;
SELECT day, campaign, visits, paid, paid_after_all,
       round(100 * paid / visits, 2) AS percent, round(100 * usual, 2) AS usual,
       round(z, 2) AS z, round(z_after_all, 2) AS z_after_all,
       CASE WHEN z IS NULL OR z > ${unusual} THEN 'as usual'
            WHEN z_after_all > ${unusual} THEN 'late data'
            ELSE 'fewer paid' END AS verdict
FROM measured
