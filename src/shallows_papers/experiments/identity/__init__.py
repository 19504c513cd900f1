"""Identity of results: the code and the parameters behind them, which decide what is computed again."""
