-- Sessions of the web shop by channel, country and device: from the first page to the purchase.
-- A session ends after 30 minutes without an event.
WITH known_events AS (
  SELECT
    e.visitor_id,
    e.event_id,
    e.occurred_at,
    e.kind,
    e.device,
    coalesce(e.campaign, 'none') AS campaign,
    g.section
  FROM events e
  LEFT JOIN pages g ON g.page = e.page
  WHERE NOT e.is_bot
),
marked AS (
  SELECT
    *,
    CASE
      WHEN unix_timestamp(occurred_at)
        - unix_timestamp(lag(occurred_at) OVER (PARTITION BY visitor_id ORDER BY occurred_at, event_id)) <= 1800
      THEN 0
      ELSE 1
    END AS begins
  FROM known_events
),
numbered AS (
  SELECT
    *,
    sum(begins) OVER (
      PARTITION BY visitor_id ORDER BY occurred_at, event_id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS session_no
  FROM marked
),
visits AS (
  SELECT
    visitor_id,
    session_no,
    min(occurred_at) AS began_at,
    max(occurred_at) AS ended_at,
    max(CASE WHEN begins = 1 THEN campaign END) AS campaign,
    max(CASE WHEN begins = 1 THEN device END) AS device,
    count(*) AS events,
    count(DISTINCT section) AS sections,
    max(CASE WHEN kind = 'search' THEN 1 ELSE 0 END) AS searched,
    max(CASE WHEN kind = 'product' THEN 1 ELSE 0 END) AS saw_product,
    max(CASE WHEN kind = 'cart' THEN 1 ELSE 0 END) AS filled_cart,
    max(CASE WHEN kind = 'checkout' THEN 1 ELSE 0 END) AS checked_out
  FROM numbered
  GROUP BY visitor_id, session_no
),
bought AS (
  SELECT
    v.visitor_id,
    v.session_no,
    count(*) AS purchases,
    sum(p.amount_cents) / 100 AS revenue
  FROM visits v
  JOIN purchases p
    ON p.visitor_id = v.visitor_id
    AND p.purchased_at BETWEEN v.began_at AND v.ended_at + INTERVAL 5 MINUTES
  GROUP BY v.visitor_id, v.session_no
),
funnel AS (
  SELECT
    coalesce(c.channel, 'direct') AS channel,
    coalesce(w.country, '??') AS country,
    v.device,
    count(*) AS sessions,
    count(DISTINCT v.visitor_id) AS visitors,
    count(DISTINCT w.account_id) AS accounts,
    sum(v.events) AS events,
    sum(CASE WHEN v.events = 1 THEN 1 ELSE 0 END) AS bounces,
    sum(unix_timestamp(v.ended_at) - unix_timestamp(v.began_at)) AS seconds_spent,
    max(v.sections) AS most_sections,
    sum(v.searched) AS searched,
    sum(v.saw_product) AS saw_product,
    sum(v.saw_product * v.filled_cart) AS filled_cart,
    sum(v.filled_cart * v.checked_out) AS checked_out,
    count(b.purchases) AS buying_sessions,
    sum(coalesce(b.revenue, 0)) AS revenue
  FROM visits v
  LEFT JOIN bought b ON b.visitor_id = v.visitor_id AND b.session_no = v.session_no
  LEFT JOIN campaigns c ON c.campaign = v.campaign
  LEFT JOIN visitors w ON w.visitor_id = v.visitor_id
  GROUP BY 1, 2, 3
)
SELECT
  channel,
  country,
  device,
  sessions,
  visitors,
  accounts,
  events,
  bounces,
  seconds_spent,
  most_sections,
  searched,
  saw_product,
  filled_cart,
  checked_out,
  buying_sessions,
  revenue,
  round(100.0 * bounces / sessions, 2) AS bounce_percent,
  round(100.0 * buying_sessions / sessions, 2) AS conversion_percent,
  round(100.0 * sessions / sum(sessions) OVER (PARTITION BY country), 2) AS percent_of_country,
  dense_rank() OVER (PARTITION BY channel ORDER BY buying_sessions DESC, sessions DESC) AS rank_in_channel
FROM funnel
ORDER BY channel, country, device
