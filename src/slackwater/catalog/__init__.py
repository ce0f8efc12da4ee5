"""What is known of the tables a query reads."""
