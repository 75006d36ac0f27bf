CREATE TEMPORARY VIEW large AS
SELECT day, name, amount FROM customers_of_the_day WHERE amount > 5;

CREATE MATERIALIZED VIEW daily_revenue
COMMENT 'Revenue of a day, and of its large customers'
AS
SELECT d.day, sum(d.amount) AS revenue, count(l.name) AS large_customers
FROM shop.customers_of_the_day d
LEFT JOIN large l ON l.day = d.day AND l.name = d.name
GROUP BY d.day;
