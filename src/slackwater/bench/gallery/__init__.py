"""Jobs as data engineers have them, in nine trades: a query, a job file and a generator of days for each."""
