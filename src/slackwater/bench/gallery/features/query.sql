-- Features of each customer for tomorrow's churn scores.
WITH purchase_facts AS (
  SELECT
    p.customer_id,
    count(*) AS purchases,
    count(DISTINCT p.store_id) AS stores,
    count(DISTINCT g.category) AS categories,
    sum(p.amount) AS spent,
    avg(p.amount) AS spent_on_average,
    max(p.amount) AS largest_purchase,
    min(p.purchased_at) AS first_purchase_at,
    max(p.purchased_at) AS last_purchase_at,
    sum(CASE WHEN p.purchased_at >= TIMESTAMP '2026-11-01' THEN p.amount ELSE 0 END) AS spent_recently,
    sum(CASE WHEN p.is_online THEN 1 ELSE 0 END) AS online_purchases,
    sum(CASE WHEN p.coupon IS NOT NULL THEN 1 ELSE 0 END) AS coupon_purchases,
    sum(CASE WHEN g.is_luxury THEN p.amount ELSE 0 END) AS spent_on_luxury
  FROM purchases p
  JOIN goods g ON g.good_id = p.good_id
  GROUP BY p.customer_id
),
favourites AS (
  SELECT customer_id, category AS favourite_category
  FROM (
    SELECT
      p.customer_id,
      g.category,
      row_number() OVER (PARTITION BY p.customer_id ORDER BY count(*) DESC, sum(p.amount) DESC, g.category) AS place
    FROM purchases p
    JOIN goods g ON g.good_id = p.good_id
    GROUP BY p.customer_id, g.category
  )
  WHERE place = 1
),
visit_facts AS (
  SELECT
    customer_id,
    count(*) AS visits,
    count(DISTINCT CAST(visited_at AS DATE)) AS days_with_visits,
    sum(pages) AS pages,
    max(visited_at) AS last_visit_at,
    sum(CASE WHEN device = 'app' THEN 1 ELSE 0 END) AS app_visits,
    sum(CASE WHEN pages = 1 THEN 1 ELSE 0 END) AS short_visits,
    sum(CASE WHEN hour(visited_at) < 6 THEN 1 ELSE 0 END) AS visits_at_night
  FROM visits
  GROUP BY customer_id
),
mail_facts AS (
  SELECT
    customer_id,
    count(DISTINCT mail_id) AS mails,
    count(DISTINCT CASE WHEN action = 'opened' THEN mail_id END) AS opened,
    count(DISTINCT CASE WHEN action = 'clicked' THEN mail_id END) AS clicked,
    max(CASE WHEN action = 'unsubscribed' THEN 1 ELSE 0 END) AS has_unsubscribed
  FROM mail_actions
  GROUP BY customer_id
),
ticket_facts AS (
  SELECT
    customer_id,
    count(*) AS tickets,
    sum(CASE WHEN status <> 'closed' THEN 1 ELSE 0 END) AS open_tickets,
    sum(CASE WHEN topic = 'complaint' THEN 1 ELSE 0 END) AS complaints,
    min(satisfaction) AS worst_satisfaction
  FROM tickets
  GROUP BY customer_id
)
SELECT
  c.customer_id,
  c.segment,
  c.country,
  year(c.joined_on) AS joined_in,
  coalesce(p.purchases, 0) AS purchases,
  coalesce(p.stores, 0) AS stores,
  coalesce(p.categories, 0) AS categories,
  coalesce(p.spent, 0) AS spent,
  p.spent_on_average,
  p.largest_purchase,
  p.spent_recently / p.spent AS share_spent_recently,
  p.spent_on_luxury / p.spent AS share_spent_on_luxury,
  p.online_purchases / p.purchases AS share_online,
  p.coupon_purchases / p.purchases AS share_with_coupon,
  datediff(DATE '2026-12-01', p.last_purchase_at) AS days_since_purchase,
  datediff(p.last_purchase_at, p.first_purchase_at) AS days_of_purchases,
  f.favourite_category,
  coalesce(v.visits, 0) AS visits,
  coalesce(v.days_with_visits, 0) AS days_with_visits,
  coalesce(v.pages, 0) AS pages,
  v.app_visits / v.visits AS share_of_app,
  v.short_visits / v.visits AS share_of_short_visits,
  v.visits_at_night / v.visits AS share_at_night,
  coalesce(v.visits, 0) / greatest(coalesce(p.purchases, 0), 1) AS visits_for_a_purchase,
  coalesce(m.mails, 0) AS mails,
  m.opened / m.mails AS open_rate,
  m.clicked / m.mails AS click_rate,
  coalesce(m.has_unsubscribed, 0) AS has_unsubscribed,
  coalesce(t.tickets, 0) AS tickets,
  coalesce(t.open_tickets, 0) AS open_tickets,
  coalesce(t.complaints, 0) AS complaints,
  t.worst_satisfaction,
  coalesce(p.spent, 0) - avg(coalesce(p.spent, 0)) OVER (PARTITION BY c.segment) AS spent_above_segment,
  ntile(10) OVER (PARTITION BY c.country ORDER BY coalesce(p.spent, 0) DESC, c.customer_id) AS spending_decile
FROM customers c
LEFT JOIN purchase_facts p ON p.customer_id = c.customer_id
LEFT JOIN favourites f ON f.customer_id = c.customer_id
LEFT JOIN visit_facts v ON v.customer_id = c.customer_id
LEFT JOIN mail_facts m ON m.customer_id = c.customer_id
LEFT JOIN ticket_facts t ON t.customer_id = c.customer_id
WHERE c.has_consented
