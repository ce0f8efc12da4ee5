"""What a job keeps on disk: manifests, states, answers, and the lock that guards them."""
