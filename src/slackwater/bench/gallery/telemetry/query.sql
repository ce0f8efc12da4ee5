-- The machines that need a visit tomorrow: the five worst of each site, by readings out of their limits.
WITH readings_once AS (
  SELECT device_id, measured_at, received_at, temperature, vibration, power
  FROM readings
  WHERE quality <> 'bad'
  QUALIFY row_number() OVER (PARTITION BY device_id, measured_at ORDER BY received_at, reading_id) = 1
),
in_service AS (
  SELECT r.*
  FROM readings_once r
  WHERE NOT EXISTS (
    SELECT 1
    FROM maintenance m
    WHERE m.device_id = r.device_id
      AND r.measured_at BETWEEN m.began_at AND m.ended_at
  )
),
quarters AS (
  SELECT
    device_id,
    timestamp_seconds(900 * floor(unix_timestamp(measured_at) / 900)) AS quarter,
    count(*) AS readings,
    avg(temperature) AS temperature,
    max(temperature) AS highest_temperature,
    avg(vibration) AS vibration,
    max(vibration) AS highest_vibration,
    sum(power) AS power
  FROM in_service
  GROUP BY 1, 2
),
judged AS (
  SELECT
    q.*,
    d.site_id,
    d.model,
    CASE WHEN q.highest_temperature > l.highest_temperature THEN 1 ELSE 0 END AS too_hot,
    CASE WHEN q.highest_vibration > l.highest_vibration THEN 1 ELSE 0 END AS shakes,
    q.temperature - lag(q.temperature) OVER (PARTITION BY q.device_id ORDER BY q.quarter) AS warming,
    unix_timestamp(q.quarter)
      - unix_timestamp(lag(q.quarter) OVER (PARTITION BY q.device_id ORDER BY q.quarter)) AS since_last
  FROM quarters q
  JOIN devices d ON d.device_id = q.device_id
  JOIN limits l ON l.model = d.model
),
by_device AS (
  SELECT
    site_id,
    device_id,
    model,
    count(*) AS quarters,
    sum(readings) AS readings,
    sum(too_hot) AS hot_quarters,
    sum(shakes) AS shaking_quarters,
    sum(too_hot * shakes) AS hot_and_shaking,
    max(warming) AS fastest_warming,
    sum(CASE WHEN since_last > 900 THEN 1 ELSE 0 END) AS silences,
    max(since_last) AS longest_silence,
    avg(temperature) AS temperature,
    sum(power) AS power
  FROM judged
  GROUP BY site_id, device_id, model
),
spread AS (
  SELECT device_id, percentile(vibration, 0.95) AS vibration_95, stddev_samp(temperature) AS temperature_deviation
  FROM in_service
  GROUP BY device_id
),
alarm_counts AS (
  SELECT
    device_id,
    count(*) AS alarms,
    sum(CASE WHEN severity = 'critical' THEN 1 ELSE 0 END) AS critical_alarms,
    sum(CASE WHEN state = 'open' THEN 1 ELSE 0 END) AS open_alarms
  FROM alarms
  GROUP BY device_id
),
scored AS (
  SELECT
    s.name AS site,
    s.country,
    b.*,
    p.vibration_95,
    p.temperature_deviation,
    coalesce(a.alarms, 0) AS alarms,
    coalesce(a.critical_alarms, 0) AS critical_alarms,
    coalesce(a.open_alarms, 0) AS open_alarms,
    5 * b.hot_and_shaking + b.hot_quarters + b.shaking_quarters + b.silences
      + 10 * coalesce(a.open_alarms, 0) AS score
  FROM by_device b
  JOIN sites s ON s.site_id = b.site_id
  JOIN spread p ON p.device_id = b.device_id
  LEFT JOIN alarm_counts a ON a.device_id = b.device_id
)
SELECT
  site,
  country,
  device_id,
  model,
  quarters,
  readings,
  hot_quarters,
  shaking_quarters,
  hot_and_shaking,
  fastest_warming,
  silences,
  longest_silence,
  temperature,
  temperature_deviation,
  vibration_95,
  power,
  alarms,
  critical_alarms,
  open_alarms,
  score,
  sum(score) OVER (PARTITION BY site_id) AS score_of_site,
  row_number() OVER (PARTITION BY site_id ORDER BY score DESC, device_id) AS place
FROM scored
QUALIFY place <= 5
ORDER BY country, site, place
