"""Our CUDA functions, and checks of a GPU before a fit."""
