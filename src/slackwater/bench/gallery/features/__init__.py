"""Features for a model: one row for each customer, from purchases, visits, mails and support tickets."""
