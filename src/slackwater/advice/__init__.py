"""Why a plan does no more work early, and what would change that.

`why_not` puts the answer together: `obstacles` are the operators at which early work stops to pay, `assumptions` are
changes of a job that are planned as if they were made. Nothing here changes a plan.
"""
