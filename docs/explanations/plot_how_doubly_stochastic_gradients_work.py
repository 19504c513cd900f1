r"""
How doubly stochastic gradients work
====================================

A shift-invariant kernel is a mean over random frequencies. For the Gaussian kernel,

.. math::

   k(x, z) = \mathrm{E}_{w, b}\, 2 \cos(w^\top x + b) \cos(w^\top z + b), \qquad w \sim N(0, \sigma^{-2} I) ,

with a phase :math:`b` that is uniform in :math:`[0, 2\pi)`. With a few frequencies the mean is a rough estimate, but
it is right on average.
"""

import matplotlib.pyplot as plt
import numpy as np

rng = np.random.default_rng(0)
z = np.linspace(-4, 4, 300)
for n in (10, 100, 1000):
    w, b = rng.standard_normal(n), rng.uniform(0, 2 * np.pi, n)
    plt.plot(z, (2 * np.cos(b)[:, None] * np.cos(np.outer(w, z) + b[:, None])).mean(axis=0), label=f"{n} frequencies")
plt.plot(z, np.exp(-(z**2) / 2), "k--", label="kernel")
plt.xlabel("z")
plt.ylabel("k(0, z)")
plt.legend()
plt.show()

# %%
# Stochastic gradient descent in the space of the kernel adds a multiple of :math:`k(x_t, \cdot)` in each step, so it
# has to store all points. Doubly stochastic gradients take two random draws per step, a batch of points and a block of
# frequencies, and add features instead:
#
# .. math::
#
#    f_{t+1} = (1 - \gamma_t \nu) f_t - \gamma_t\, \ell'(f_t(x_t), y_t)\, \phi_{w_t}(x_t)\, \phi_{w_t}(\cdot) .
#
# The estimate of the gradient is right on average over both draws. The frequencies need not be stored: block :math:`t`
# is computed again from the seed and the number :math:`t` whenever :math:`f` is evaluated. So a model is a list of
# coefficients, and rows are never needed again.

from shallows import DoublyStochasticRegressor, KernelRidgeRegressor
from shallows.solvers import DoublyStochastic, TheoryStep

X = rng.uniform(-2, 2, (2000, 1))
y = np.sin(3 * X[:, 0]) + 0.5 * np.cos(7 * X[:, 0]) + 0.3 * rng.standard_normal(2000)
grid, nu = np.linspace(-2, 2, 400)[:, None], 0.01
exact = (
    KernelRidgeRegressor(solver="cholesky", bandwidth=0.3, alpha=2000 * nu, n_components=None).fit(X, y).predict(grid)
)
numbers, distances = (3, 10, 30, 100, 300, 1000), []
for n in numbers:
    solver = DoublyStochastic(TheoryStep(), preconditioning=None, n_iter=n, block_size=16, batch_size=64)
    models = [
        DoublyStochasticRegressor(bandwidth=0.3, regularization=nu, solver=solver, random_state=seed)
        for seed in range(5)
    ]
    predicted = [model.fit(X, y).predict(grid) for model in models]
    distances.append(np.mean([(f - exact) ** 2 for f in predicted]))
    if n in (3, 30, 1000):
        plt.plot(grid[:, 0], predicted[0], label=f"{n} steps")
plt.plot(X[:300, 0], y[:300], ".", color="lightgray", zorder=0, label="some of the rows")
plt.plot(grid[:, 0], exact, "k--", label="kernel ridge regression")
plt.xlabel("x")
plt.ylabel("f(x)")
plt.legend()
plt.show()

# %%
# For steps :math:`\gamma_t \propto 1/t` the paper proves that the squared distance to the solution, which is that of
# kernel ridge regression, falls like :math:`1/t`. The gray line has this slope. The points are means of five seeds.

plt.loglog(numbers, distances, "o-", label="measured")
plt.loglog(numbers, distances[0] * numbers[0] / np.array(numbers), color="gray", label="1/t")
plt.xlabel("steps t")
plt.ylabel("mean squared distance from the solution")
plt.legend()
plt.show()

# %%
# More: :doc:`/methods/doubly_stochastic` has the formulas of all steps, and the variants that use blocks again. The
# method is of Dai and others (2014), "Scalable kernel methods via doubly stochastic gradients".
