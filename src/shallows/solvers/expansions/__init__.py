"""Functions that grow by a block of streamed random features at a time.

`growing_expansion` keeps the coefficients of such a function, `expansion` adds what minimising a risk needs,
`doubly_stochastic` is the algorithm, and `block_policies` choose the block that its next step moves.
"""
