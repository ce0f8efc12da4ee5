"""Why a plan is as it is: the plans that were not chosen, why it does no more early, and what would change that.

`alternatives` compares the plan with the best of each method and with batch. `why_not` says why no more is done early:
`obstacles` are the operators at which early work stops to pay, `assumptions` are changes of a job that are planned as
if they were made. Nothing here changes a plan.
"""
