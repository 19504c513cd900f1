"""Identity: which code and which parameters made a result, by which it is kept or computed anew."""
