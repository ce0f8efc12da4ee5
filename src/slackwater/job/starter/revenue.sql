-- Revenue by category: what was sold in open stores, less what came back.
SELECT s.category, sum(s.price) AS sold, sum(coalesce(r.cost, 0)) AS returned
FROM sales s
JOIN store ON store.id = s.store_id
LEFT JOIN returns r ON r.o_id = s.o_id
WHERE store.open
GROUP BY s.category
