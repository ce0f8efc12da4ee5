"""What plans cost: cardinalities of forms, cost of operators, and how costs over time are compared."""
