"""Telemetry of machines: readings that come late and twice, skewed by device, with alarms and maintenance."""
