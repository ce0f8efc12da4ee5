"""Time in the planner: versions as masks, snapshots and deltas as forms, runs as a timeline."""
