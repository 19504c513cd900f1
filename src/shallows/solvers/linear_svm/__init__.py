"""Linear support vector machines, on dense or sparse rows, by solvers that choose their own rows.

`rows` holds the rows as compiled code takes them, `problem` the objective and what all states have in common,
`visits` the orders in which examples are visited; each method has a module of its own.
"""
