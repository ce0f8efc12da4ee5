-- The evening report of the shops: for each region its ten best categories, with payments and what came back.
WITH trading_shops AS (
  SELECT store_id, region, format AS store_format
  FROM stores
  WHERE is_open
),
order_payments AS (
  SELECT
    order_id,
    sum(CASE WHEN state = 'captured' THEN amount ELSE 0 END) AS captured,
    sum(CASE WHEN state = 'refused' THEN 1 ELSE 0 END) AS refusals,
    count(DISTINCT method) AS methods,
    max(CASE WHEN method = 'gift card' THEN 1 ELSE 0 END) AS with_gift_card
  FROM payments
  GROUP BY order_id
),
line_returns AS (
  SELECT
    order_id,
    line_no,
    sum(pieces) AS pieces_back,
    sum(refund) AS refund,
    sum(CASE WHEN state = 'paid out' THEN refund ELSE 0 END) AS paid_out,
    max(CASE WHEN reason = 'defect' THEN 1 ELSE 0 END) AS is_defect
  FROM returns
  WHERE state <> 'rejected'
  GROUP BY order_id, line_no
),
baskets AS (
  SELECT order_id, count(*) AS basket_lines, sum(unit_price * quantity) AS basket_value
  FROM order_lines
  GROUP BY order_id
),
sold AS (
  SELECT
    coalesce(s.region, 'closed or unknown') AS region,
    coalesce(s.store_format, 'none') AS store_format,
    p.department,
    p.category,
    o.order_id,
    o.customer_id,
    o.channel,
    o.voucher,
    l.quantity,
    l.unit_price * l.quantity * (100 - l.discount_percent) / 100 AS net,
    p.unit_cost * l.quantity AS cost,
    b.basket_value,
    r.pieces_back,
    r.refund,
    r.paid_out,
    r.is_defect,
    op.captured,
    op.methods,
    op.with_gift_card,
    op.refusals
  FROM orders o
  JOIN order_lines l ON l.order_id = o.order_id
  JOIN baskets b ON b.order_id = o.order_id
  JOIN products p ON p.product_id = l.product_id
  LEFT JOIN trading_shops s ON s.store_id = o.store_id
  LEFT JOIN line_returns r ON r.order_id = l.order_id AND r.line_no = l.line_no
  LEFT JOIN order_payments op ON op.order_id = o.order_id
),
by_category AS (
  SELECT
    region,
    department,
    category,
    count(DISTINCT order_id) AS orders,
    count(DISTINCT customer_id) AS customers,
    count(DISTINCT CASE WHEN voucher IS NOT NULL THEN customer_id END) AS voucher_customers,
    sum(quantity) AS pieces,
    sum(net) AS net,
    sum(net - cost) AS margin,
    sum(CASE WHEN channel = 'web' THEN net ELSE 0 END) AS net_web,
    sum(CASE WHEN channel = 'app' THEN net ELSE 0 END) AS net_app,
    sum(CASE WHEN channel = 'till' THEN net ELSE 0 END) AS net_till,
    sum(CASE WHEN store_format = 'express' THEN net ELSE 0 END) AS net_express,
    sum(CASE WHEN basket_value >= 500 THEN net ELSE 0 END) AS net_of_large_baskets,
    sum(CASE WHEN captured IS NULL THEN net ELSE 0 END) AS net_unpaid,
    sum(CASE WHEN with_gift_card = 1 THEN net ELSE 0 END) AS net_with_gift_card,
    sum(CASE WHEN methods > 1 THEN 1 ELSE 0 END) AS lines_paid_in_parts,
    sum(coalesce(refusals, 0)) AS refusals,
    sum(coalesce(pieces_back, 0)) AS pieces_back,
    sum(coalesce(refund, 0)) AS refunds,
    sum(coalesce(paid_out, 0)) AS paid_out,
    count(is_defect) AS lines_back,
    sum(is_defect) AS defects
  FROM sold
  GROUP BY region, department, category
)
SELECT
  region,
  department,
  category,
  orders,
  customers,
  voucher_customers,
  pieces,
  net,
  margin,
  net_web,
  net_app,
  net_till,
  net_express,
  net_of_large_baskets,
  net_unpaid,
  net_with_gift_card,
  lines_paid_in_parts,
  refusals,
  pieces_back,
  refunds,
  paid_out,
  lines_back,
  defects,
  round(100 * net / sum(net) OVER (PARTITION BY region), 3) AS percent_of_region,
  rank() OVER (PARTITION BY region, department ORDER BY margin DESC) AS rank_in_department,
  row_number() OVER (PARTITION BY region ORDER BY net - refunds DESC, category) AS place
FROM by_category
WHERE pieces >= 20
QUALIFY place <= 10
ORDER BY region, place
