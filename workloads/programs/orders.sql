-- Fills, indexes, groups and empties a table in memory. Run by scripts/bench.sh under several allocators.
CREATE TABLE orders(id INTEGER PRIMARY KEY, customer TEXT, note TEXT, amount INTEGER);
WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 35000)
INSERT INTO orders SELECT n, 'customer ' || (n * 7919 % 4001), hex(zeroblob(n % 90)), n * 31 % 1009 FROM numbers;
CREATE INDEX by_customer ON orders(customer, amount);
SELECT customer, count(*), sum(amount), group_concat(length(note)) FROM orders GROUP BY customer ORDER BY 3 DESC LIMIT 3;
UPDATE orders SET note = note || customer WHERE id % 3 = 0;
DELETE FROM orders WHERE id % 2 = 0;
SELECT count(*), sum(length(note)) FROM orders;
