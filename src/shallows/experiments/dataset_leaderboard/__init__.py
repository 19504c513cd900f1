"""One leaderboard for each dataset of the catalogue: every method that suits it, by error, times and size."""
