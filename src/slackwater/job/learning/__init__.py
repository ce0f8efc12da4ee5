"""What a job learns from its own runs: row counts, arrivals, prices, regret."""
