"""The fault campaign: jobs that live through faults, each case equal to batch or refused with nothing lost."""
