-- Ads by what they bring: conversions are attributed to the last valid click of the past three days,
-- otherwise to the last impression of the past 24 hours; clicks also share each conversion equally.
WITH valid_clicks AS (
  SELECT c.click_id, c.impression_id, c.user_id, c.ad_id, c.clicked_at, c.cost_micros
  FROM clicks c
  LEFT ANTI JOIN invalid_clicks x ON x.click_id = c.click_id
),
click_touches AS (
  SELECT
    v.conversion_id,
    v.user_id,
    v.kind,
    v.value_cents,
    k.ad_id,
    k.clicked_at,
    row_number() OVER (PARTITION BY v.conversion_id ORDER BY k.clicked_at DESC, k.click_id DESC) AS from_last,
    count(*) OVER (PARTITION BY v.conversion_id) AS touches
  FROM conversions v
  JOIN valid_clicks k
    ON k.user_id = v.user_id
    AND k.clicked_at <= v.converted_at
    AND k.clicked_at > v.converted_at - INTERVAL 3 DAYS
),
by_click AS (
  SELECT
    ad_id,
    sum(CASE WHEN from_last = 1 THEN 1 ELSE 0 END) AS last_click_conversions,
    sum(CASE WHEN from_last = 1 THEN value_cents ELSE 0 END) AS last_click_cents,
    sum(CASE WHEN from_last = 1 AND kind = 'signup' THEN 1 ELSE 0 END) AS signups,
    sum(value_cents / touches) AS shared_cents,
    count(DISTINCT user_id) AS converting_users
  FROM click_touches
  GROUP BY ad_id
),
without_click AS (
  SELECT v.conversion_id, v.user_id, v.converted_at, v.value_cents
  FROM conversions v
  WHERE NOT EXISTS (SELECT 1 FROM click_touches t WHERE t.conversion_id = v.conversion_id)
),
view_touches AS (
  SELECT n.conversion_id, n.value_cents, i.ad_id
  FROM without_click n
  JOIN impressions i
    ON i.user_id = n.user_id
    AND i.shown_at <= n.converted_at
    AND i.shown_at > n.converted_at - INTERVAL 24 HOURS
  QUALIFY row_number() OVER (PARTITION BY n.conversion_id ORDER BY i.shown_at DESC, i.impression_id DESC) = 1
),
by_view AS (
  SELECT ad_id, count(*) AS view_conversions, sum(value_cents) AS view_cents
  FROM view_touches
  GROUP BY ad_id
),
delivery AS (
  SELECT
    i.ad_id,
    count(*) AS impressions,
    count(DISTINCT i.user_id) AS reach,
    sum(i.cost_micros) AS impression_micros,
    sum(CASE WHEN i.placement = 'feed' THEN 1 ELSE 0 END) AS in_feed,
    sum(CASE WHEN i.placement = 'story' THEN 1 ELSE 0 END) AS in_story,
    sum(CASE WHEN i.placement = 'search' THEN 1 ELSE 0 END) AS in_search,
    count(k.click_id) AS clicks,
    sum(coalesce(k.cost_micros, 0)) AS click_micros
  FROM impressions i
  LEFT JOIN valid_clicks k ON k.impression_id = i.impression_id
  GROUP BY i.ad_id
),
by_ad AS (
  SELECT
    c.advertiser,
    c.campaign_id,
    c.objective,
    a.ad_id,
    a.format,
    d.impressions,
    d.reach,
    d.clicks,
    d.in_feed,
    d.in_story,
    d.in_search,
    (d.impression_micros + d.click_micros) / 1000000 AS spent,
    coalesce(k.last_click_conversions, 0) AS click_conversions,
    coalesce(w.view_conversions, 0) AS view_conversions,
    coalesce(k.signups, 0) AS signups,
    coalesce(k.converting_users, 0) AS converting_users,
    (coalesce(k.last_click_cents, 0) + coalesce(w.view_cents, 0)) / 100 AS value,
    coalesce(k.shared_cents, 0) / 100 AS shared_value
  FROM ads a
  JOIN campaigns c ON c.campaign_id = a.campaign_id
  JOIN delivery d ON d.ad_id = a.ad_id
  LEFT JOIN by_click k ON k.ad_id = a.ad_id
  LEFT JOIN by_view w ON w.ad_id = a.ad_id
  WHERE c.is_active
)
SELECT
  advertiser,
  campaign_id,
  objective,
  ad_id,
  format,
  impressions,
  reach,
  clicks,
  in_feed,
  in_story,
  in_search,
  spent,
  click_conversions,
  view_conversions,
  signups,
  converting_users,
  value,
  shared_value,
  clicks / impressions AS click_rate,
  value / nullif(spent, 0) AS return_on_spend,
  sum(spent) OVER (PARTITION BY campaign_id) AS campaign_spent,
  row_number() OVER (PARTITION BY campaign_id ORDER BY click_conversions + view_conversions DESC, ad_id) AS place
FROM by_ad
QUALIFY place <= 5
ORDER BY advertiser, campaign_id, place
