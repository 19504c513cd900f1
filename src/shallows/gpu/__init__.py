"""CUDA of our own, which `cuda` compiles, checks and switches off, and what keeps a GPU from being used."""
