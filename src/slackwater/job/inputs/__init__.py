"""What a run reads: sources, pinned files, counts, promises."""
