-- The trial balance of the day by branch and account, with journals out of balance and cash that is not confirmed.
WITH converted AS (
  SELECT
    p.posting_id,
    p.journal_id,
    p.account_id,
    p.branch_id,
    p.value_date,
    p.amount,
    CAST(p.amount * r.rate AS DECIMAL(18, 2)) AS amount_eur
  FROM postings p
  JOIN rates r ON r.currency = p.currency
),
journal_totals AS (
  SELECT
    journal_id,
    sum(amount_eur) AS balance,
    count(*) AS postings,
    count(DISTINCT branch_id) AS branches
  FROM converted
  GROUP BY journal_id
),
suspect_journals AS (
  SELECT t.journal_id, t.balance, j.entered_by, j.system
  FROM journal_totals t
  JOIN journals j ON j.journal_id = t.journal_id
  WHERE abs(t.balance) > 0.05
    OR (t.branches > 1 AND j.kind = 'manual')
),
cash AS (
  SELECT c.account_id, c.journal_id, sum(c.amount) AS booked
  FROM converted c
  JOIN accounts a ON a.account_id = c.account_id
  WHERE a.class = 'cash'
  GROUP BY c.account_id, c.journal_id
),
confirmed AS (
  SELECT account_id, journal_id, sum(amount_cents) / 100 AS stated, count(*) AS lines
  FROM statement_lines
  GROUP BY account_id, journal_id
),
reconciled AS (
  SELECT
    coalesce(b.account_id, s.account_id) AS account_id,
    sum(CASE WHEN s.journal_id IS NULL THEN 1 ELSE 0 END) AS only_booked,
    sum(CASE WHEN b.journal_id IS NULL THEN 1 ELSE 0 END) AS only_stated,
    sum(CASE WHEN b.booked <> s.stated THEN 1 ELSE 0 END) AS different,
    sum(coalesce(b.booked, 0) - coalesce(s.stated, 0)) AS unexplained
  FROM cash b
  FULL OUTER JOIN confirmed s ON s.account_id = b.account_id AND s.journal_id = b.journal_id
  GROUP BY coalesce(b.account_id, s.account_id)
),
balances AS (
  SELECT
    b.region,
    c.branch_id,
    a.class,
    c.account_id,
    a.name AS account,
    count(*) AS postings,
    count(DISTINCT c.journal_id) AS journals,
    sum(CASE WHEN c.amount_eur > 0 THEN c.amount_eur ELSE 0 END) AS debit,
    sum(CASE WHEN c.amount_eur < 0 THEN -c.amount_eur ELSE 0 END) AS credit,
    sum(c.amount_eur) AS balance,
    max(abs(c.amount_eur)) AS largest,
    sum(CASE WHEN c.value_date < DATE '2026-11-01' THEN 1 ELSE 0 END) AS back_dated,
    count(DISTINCT q.journal_id) AS suspect_journals,
    count(DISTINCT q.entered_by) AS suspect_clerks
  FROM converted c
  JOIN accounts a ON a.account_id = c.account_id
  JOIN branches b ON b.branch_id = c.branch_id
  LEFT JOIN suspect_journals q ON q.journal_id = c.journal_id
  GROUP BY b.region, c.branch_id, a.class, c.account_id, a.name
)
SELECT
  s.region,
  s.branch_id,
  s.class,
  s.account_id,
  s.account,
  s.postings,
  s.journals,
  s.debit,
  s.credit,
  s.balance,
  s.largest,
  s.back_dated,
  s.suspect_journals,
  s.suspect_clerks,
  r.only_booked,
  r.only_stated,
  r.different,
  r.unexplained,
  sum(s.balance) OVER (PARTITION BY s.branch_id ORDER BY s.class, s.account_id) AS running_balance,
  s.balance - avg(s.balance) OVER (PARTITION BY s.region, s.class) AS above_average,
  rank() OVER (PARTITION BY s.branch_id ORDER BY abs(s.balance) DESC) AS place
FROM balances s
LEFT JOIN reconciled r ON r.account_id = s.account_id
ORDER BY s.region, s.branch_id, s.class, s.account_id
