"""Support vector machines in their dual variables, whose solvers choose the rows of the kernel matrix."""
