-- Lanes at the end of the day: how far shipments have come, where they wait, and which carriers are late.
WITH valid_scans AS (
  SELECT scan_id, shipment_id, hub_id, kind, scanned_at
  FROM scans
  WHERE NOT is_void
),
legs AS (
  SELECT
    shipment_id,
    scan_id,
    hub_id,
    kind,
    scanned_at,
    lead(scanned_at) OVER (PARTITION BY shipment_id ORDER BY scanned_at, scan_id) AS next_scanned_at,
    lead(hub_id) OVER (PARTITION BY shipment_id ORDER BY scanned_at, scan_id) AS next_hub_id,
    row_number() OVER (PARTITION BY shipment_id ORDER BY scanned_at DESC, scan_id DESC) AS from_last
  FROM valid_scans
),
progress AS (
  SELECT
    shipment_id,
    count(*) AS scans,
    count(DISTINCT hub_id) AS hubs,
    min(scanned_at) AS first_scan_at,
    max(CASE WHEN kind = 'delivered' THEN scanned_at END) AS delivered_at,
    max(CASE WHEN from_last = 1 THEN kind END) AS last_kind,
    max(CASE WHEN from_last = 1 THEN hub_id END) AS last_hub_id,
    sum(CASE WHEN kind = 'arrived' AND hub_id = next_hub_id
             THEN unix_timestamp(next_scanned_at) - unix_timestamp(scanned_at) ELSE 0 END) AS waited_seconds,
    max(CASE WHEN kind = 'loaded' AND hub_id <> next_hub_id
             THEN unix_timestamp(next_scanned_at) - unix_timestamp(scanned_at) END) AS longest_leg_seconds,
    sum(CASE WHEN kind = 'attempted' THEN 1 ELSE 0 END) AS attempts
  FROM legs
  GROUP BY shipment_id
),
problems AS (
  SELECT
    shipment_id,
    count(*) AS exceptions,
    max(CASE WHEN code LIKE 'DMG%' THEN 1 ELSE 0 END) AS is_damaged,
    max(CASE WHEN code LIKE 'ADR%' THEN 1 ELSE 0 END) AS has_bad_address
  FROM exceptions
  GROUP BY shipment_id
),
shipped AS (
  SELECT
    s.shipment_id,
    s.customer_id,
    s.service,
    s.weight_grams,
    c.name AS carrier,
    o.city AS origin,
    d.city AS destination,
    d.country,
    h.city AS last_city,
    p.scans,
    p.hubs,
    p.last_kind,
    p.attempts,
    p.waited_seconds,
    p.longest_leg_seconds,
    coalesce(x.exceptions, 0) AS exceptions,
    coalesce(x.is_damaged, 0) AS is_damaged,
    coalesce(x.has_bad_address, 0) AS has_bad_address,
    CASE
      WHEN p.delivered_at <= s.promised_at THEN 'in time'
      WHEN p.delivered_at IS NOT NULL THEN 'late'
      WHEN p.shipment_id IS NULL THEN 'not scanned'
      ELSE 'under way'
    END AS outcome
  FROM shipments s
  JOIN carriers c ON c.carrier_id = s.carrier_id
  JOIN hubs o ON o.hub_id = s.origin_hub_id
  JOIN hubs d ON d.hub_id = s.destination_hub_id
  LEFT JOIN progress p ON p.shipment_id = s.shipment_id
  LEFT JOIN hubs h ON h.hub_id = p.last_hub_id
  LEFT JOIN problems x ON x.shipment_id = s.shipment_id
  WHERE s.status <> 'cancelled'
),
lanes AS (
  SELECT
    country,
    origin,
    destination,
    carrier,
    count(*) AS shipments,
    count(DISTINCT customer_id) AS customers,
    count(DISTINCT last_city) AS cities_of_last_scan,
    sum(weight_grams) / 1000 AS kilograms,
    sum(CASE WHEN outcome = 'in time' THEN 1 ELSE 0 END) AS in_time,
    sum(CASE WHEN outcome = 'late' THEN 1 ELSE 0 END) AS late,
    sum(CASE WHEN outcome = 'under way' THEN 1 ELSE 0 END) AS under_way,
    sum(CASE WHEN outcome = 'not scanned' THEN 1 ELSE 0 END) AS not_scanned,
    sum(CASE WHEN service = 'express' AND outcome = 'late' THEN 1 ELSE 0 END) AS express_late,
    sum(coalesce(scans, 0)) AS scans,
    max(hubs) AS most_hubs,
    avg(waited_seconds) AS waited_seconds,
    max(longest_leg_seconds) AS longest_leg_seconds,
    sum(attempts) AS attempts,
    sum(exceptions) AS exceptions,
    sum(is_damaged) AS damaged,
    sum(has_bad_address) AS bad_addresses
  FROM shipped
  GROUP BY country, origin, destination, carrier
)
SELECT
  *,
  round(100.0 * in_time / nullif(in_time + late, 0), 1) AS in_time_percent,
  round(100.0 * shipments / sum(shipments) OVER (PARTITION BY country), 3) AS percent_of_country,
  avg(late) OVER (PARTITION BY carrier) AS late_of_carrier
FROM lanes
QUALIFY row_number() OVER (
  PARTITION BY country ORDER BY late + express_late DESC, shipments DESC, origin, destination, carrier
) <= 40
ORDER BY country, late DESC, origin, destination, carrier
