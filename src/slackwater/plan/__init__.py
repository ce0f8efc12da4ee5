"""Plans: what each run computes, keeps and delivers."""
