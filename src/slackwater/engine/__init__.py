"""Steps to SQL, and a small engine to try plans on."""
