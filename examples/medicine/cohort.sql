CREATE TEMP VIEW trends AS
  SELECT subject, count(*) AS tests, max_by(value, taken) AS hba1c,
         regr_slope(value, datediff(taken, DATE '2024-01-01') / 365.25) AS per_year
  FROM results WHERE name = 'HbA1c'
  GROUP BY subject;

CREATE TEMP VIEW findings AS
  SELECT subject, max(spots) AS spots, max(largest_mm2) AS largest_mm2 FROM features GROUP BY subject;

CREATE TEMP VIEW everybody AS
  SELECT
    p.subject,
    floor(months_between(${day}, CAST(p.born AS DATE)) / 12) AS age,
    p.sex, t.hba1c, round(t.per_year, 2) AS per_year, f.spots, f.largest_mm2,
    p.consent AS consents,
    array_contains(p.diagnoses, 'E11.9') AS diabetic,
    coalesce(t.tests >= 3 AND t.per_year >= ${rise}, false) AS rising,
    coalesce(f.spots > 0, false) AS finding
  FROM patients p
  LEFT JOIN trends t ON t.subject = p.subject
  LEFT JOIN findings f ON f.subject = p.subject;

CREATE TABLE members AS
  SELECT subject, age, sex, hba1c, per_year, spots, largest_mm2
  FROM everybody WHERE consents AND diabetic AND rising AND finding;

CREATE TABLE inclusion AS
  SELECT 1 AS step, 'patients' AS who, count(*) AS number FROM everybody
  UNION ALL SELECT 2, 'with consent', count_if(consents) FROM everybody
  UNION ALL SELECT 3, 'and diabetes', count_if(consents AND diabetic) FROM everybody
  UNION ALL SELECT 4, 'and a rising HbA1c', count_if(consents AND diabetic AND rising) FROM everybody
  UNION ALL SELECT 5, 'and a finding', count_if(consents AND diabetic AND rising AND finding) FROM everybody
