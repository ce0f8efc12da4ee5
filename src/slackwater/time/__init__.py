"""Time without clocks: versions as masks, snapshots and deltas as forms, runs as a timeline."""
