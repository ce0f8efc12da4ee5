-- Monthly recurring revenue by segment and plan family: new, expanded, contracted, lost and regained.
WITH credited AS (
  SELECT line_id, sum(amount) AS credit
  FROM credit_notes
  WHERE state = 'approved'
  GROUP BY line_id
),
monthly AS (
  SELECT
    s.account_id,
    p.family,
    l.month,
    sum(CASE WHEN l.kind = 'recurring' THEN l.amount - coalesce(c.credit, 0) ELSE 0 END) AS recurring,
    sum(CASE WHEN l.kind = 'usage' THEN l.amount - coalesce(c.credit, 0) ELSE 0 END) AS metered,
    sum(coalesce(c.credit, 0)) AS credit,
    count(DISTINCT s.subscription_id) AS subscriptions,
    max(s.seats) AS seats
  FROM invoice_lines l
  JOIN subscriptions s ON s.subscription_id = l.subscription_id
  JOIN plans p ON p.plan_id = s.plan_id
  LEFT JOIN credited c ON c.line_id = l.line_id
  WHERE s.status <> 'test'
  GROUP BY s.account_id, p.family, l.month
),
compared AS (
  SELECT
    *,
    lag(recurring) OVER (PARTITION BY account_id, family ORDER BY month) AS recurring_before,
    lag(month) OVER (PARTITION BY account_id, family ORDER BY month) AS month_before,
    lead(month) OVER (PARTITION BY account_id, family ORDER BY month) AS month_after,
    max(month) OVER () AS last_month
  FROM monthly
  WHERE recurring > 0
),
movements AS (
  SELECT
    account_id, family, month, recurring, metered, credit, subscriptions, seats,
    CASE
      WHEN month_before IS NULL THEN 'new'
      WHEN months_between(month, month_before) > 1 THEN 'regained'
      WHEN recurring > recurring_before THEN 'expanded'
      WHEN recurring < recurring_before THEN 'contracted'
      ELSE 'unchanged'
    END AS movement,
    recurring - coalesce(CASE WHEN months_between(month, month_before) = 1 THEN recurring_before END, 0) AS difference
  FROM compared
  UNION ALL
  SELECT
    account_id, family, add_months(month, 1) AS month, 0, 0, 0, 0, seats,
    'lost' AS movement,
    -recurring AS difference
  FROM compared
  WHERE month < last_month
    AND (month_after IS NULL OR months_between(month_after, month) > 1)
),
by_segment AS (
  SELECT
    coalesce(a.segment, 'unknown') AS segment,
    m.family,
    m.month,
    count(DISTINCT CASE WHEN m.movement <> 'lost' THEN m.account_id END) AS accounts,
    count(DISTINCT CASE WHEN m.movement = 'lost' THEN m.account_id END) AS lost_accounts,
    count(DISTINCT a.manager) AS managers,
    sum(m.subscriptions) AS subscriptions,
    sum(m.recurring) AS recurring,
    sum(m.metered) AS metered,
    sum(m.credit) AS credit,
    sum(CASE WHEN m.movement = 'new' THEN m.difference ELSE 0 END) AS new,
    sum(CASE WHEN m.movement = 'regained' THEN m.difference ELSE 0 END) AS regained,
    sum(CASE WHEN m.movement = 'expanded' THEN m.difference ELSE 0 END) AS expanded,
    sum(CASE WHEN m.movement = 'contracted' THEN m.difference ELSE 0 END) AS contracted,
    sum(CASE WHEN m.movement = 'lost' THEN m.difference ELSE 0 END) AS lost,
    max(m.seats) AS most_seats
  FROM movements m
  LEFT JOIN accounts a ON a.account_id = m.account_id
  GROUP BY 1, 2, 3
)
SELECT
  segment,
  family,
  month,
  accounts,
  lost_accounts,
  managers,
  subscriptions,
  recurring,
  metered,
  credit,
  new,
  regained,
  expanded,
  contracted,
  lost,
  most_seats,
  round(100 * (recurring - new - regained) / nullif(lag(recurring) OVER w, 0), 2) AS retained_percent,
  sum(new + regained + expanded + contracted + lost) OVER (
    PARTITION BY segment, family ORDER BY month ROWS BETWEEN 2 PRECEDING AND CURRENT ROW
  ) AS net_of_quarter,
  rank() OVER (PARTITION BY month ORDER BY recurring DESC) AS place
FROM by_segment
WINDOW w AS (PARTITION BY segment, family ORDER BY month)
ORDER BY month, segment, family
