-- What the suppliers of each nation have sold, by the way it was shipped.
SELECT
  n_name AS nation,
  l_shipmode AS shipped_by,
  sum(l_quantity) AS pieces,
  sum(l_extendedprice) AS list_price,
  sum(l_extendedprice * (1 - l_discount)) AS revenue,
  sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS charged,
  avg(l_quantity) AS pieces_a_line,
  avg(l_discount) AS discount,
  count(*) AS lines
FROM lineitem
JOIN supplier ON s_suppkey = l_suppkey
JOIN nation ON n_nationkey = s_nationkey
GROUP BY n_name, l_shipmode
