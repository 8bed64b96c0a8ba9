-- A table, an index, and a sum: what `make quickstart` lets sqlite3 do.
CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, price INTEGER);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
	INSERT INTO item SELECT i, 'item ' || i, i * 37 % 1000 FROM n;
CREATE INDEX by_price ON item (price, name);
SELECT count(*), sum(price) FROM item WHERE price BETWEEN 100 AND 200;
SELECT name FROM item ORDER BY price DESC, name LIMIT 3;
