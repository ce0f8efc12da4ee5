"""Web sessions and funnels: events that have to be cut into sessions, purchases, a change log of visitors."""
