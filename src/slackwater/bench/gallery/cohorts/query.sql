-- Retention by cohort: of the customers who first ordered in a month, who ordered again how many months later.
WITH refunded AS (
  SELECT order_id, sum(amount) AS refund
  FROM refunds
  WHERE state <> 'declined'
  GROUP BY order_id
),
placed AS (
  SELECT
    o.order_id,
    o.customer_id,
    CAST(date_trunc('MONTH', o.ordered_at) AS DATE) AS month,
    o.channel,
    o.total - coalesce(r.refund, 0) AS net,
    r.refund
  FROM orders o
  LEFT JOIN refunded r ON r.order_id = o.order_id
  WHERE o.status <> 'cancelled'
),
first_orders AS (
  SELECT
    customer_id,
    min(month) AS cohort,
    min_by(channel, order_id) AS first_channel
  FROM placed
  GROUP BY customer_id
),
activity AS (
  SELECT
    f.cohort,
    z.region,
    CAST(months_between(p.month, f.cohort) AS INT) AS month_no,
    count(DISTINCT p.customer_id) AS active,
    count(*) AS orders,
    sum(p.net) AS net,
    sum(coalesce(p.refund, 0)) AS refunds,
    count(DISTINCT CASE WHEN f.first_channel = 'ads' THEN p.customer_id END) AS active_from_ads,
    count(DISTINCT CASE WHEN f.first_channel = 'referral' THEN p.customer_id END) AS active_from_referrals
  FROM placed p
  JOIN first_orders f ON f.customer_id = p.customer_id
  JOIN customers c ON c.customer_id = p.customer_id
  JOIN countries z ON z.country = c.country
  GROUP BY 1, 2, 3
),
cohort_sizes AS (
  SELECT
    f.cohort,
    z.region,
    count(*) AS customers,
    sum(CASE WHEN c.is_subscriber THEN 1 ELSE 0 END) AS subscribers
  FROM first_orders f
  JOIN customers c ON c.customer_id = f.customer_id
  JOIN countries z ON z.country = c.country
  GROUP BY f.cohort, z.region
),
grid AS (
  SELECT s.cohort, s.region, s.customers, s.subscribers, n.month_no
  FROM cohort_sizes s
  CROSS JOIN (SELECT explode(sequence(0, 11)) AS month_no) n
  WHERE add_months(s.cohort, n.month_no) <= (SELECT max(month) FROM placed)
)
SELECT
  g.region,
  g.cohort,
  g.month_no,
  g.customers,
  g.subscribers,
  coalesce(a.active, 0) AS active,
  coalesce(a.orders, 0) AS orders,
  coalesce(a.net, 0) AS net,
  coalesce(a.refunds, 0) AS refunds,
  coalesce(a.active_from_ads, 0) AS active_from_ads,
  coalesce(a.active_from_referrals, 0) AS active_from_referrals,
  round(100.0 * coalesce(a.active, 0) / g.customers, 2) AS retained_percent,
  sum(coalesce(a.net, 0)) OVER w AS net_so_far,
  round(sum(coalesce(a.net, 0)) OVER w / g.customers, 2) AS net_for_a_customer,
  coalesce(a.active, 0) - lag(coalesce(a.active, 0)) OVER w AS change,
  rank() OVER (PARTITION BY g.region, g.month_no ORDER BY coalesce(a.active, 0) / g.customers DESC) AS place
FROM grid g
LEFT JOIN activity a ON a.cohort = g.cohort AND a.region = g.region AND a.month_no = g.month_no
WINDOW w AS (PARTITION BY g.region, g.cohort ORDER BY g.month_no)
ORDER BY g.region, g.cohort, g.month_no
