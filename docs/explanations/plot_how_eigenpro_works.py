r"""
How EigenPro works
==================

Kernel ridge regression looks for a function :math:`f = \sum_j \alpha_j k(x_j, \cdot)` that fits the training points.
With :math:`n` points the exact solution needs the :math:`n \times n` kernel matrix :math:`K` and :math:`n^3`
operations. Gradient descent needs only products with :math:`K`:

.. math::

   \alpha \leftarrow \alpha - \eta (K \alpha - y) .

The trouble is the spectrum of :math:`K`. Let :math:`\lambda_1 \ge \lambda_2 \ge \ldots` be the eigenvalues of
:math:`K / n`. Here they are for 1,500 handwritten digits and three bandwidths.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import rbf_kernel

X, y = load_digits(return_X_y=True)
X_train, y_train, X_test, y_test = X[:1500], y[:1500], X[1500:], y[1500:]

for bandwidth in (10, 25, 60):
    eigenvalues = np.linalg.eigvalsh(rbf_kernel(X_train, gamma=0.5 / bandwidth**2) / 1500)[::-1]
    plt.loglog(np.arange(1, 1501), eigenvalues, label=f"bandwidth {bandwidth}")
    print(f"bandwidth {bandwidth}: the first is {eigenvalues[0] / eigenvalues[99]:,.0f} times the hundredth")
plt.xlabel("number i of the eigenvalue")
plt.ylabel("eigenvalue of K / n")
plt.ylim(1e-10, 2)
plt.legend()
plt.show()

# %%
# The wider the kernel, the faster the eigenvalues fall. The step is limited by the largest one,
# :math:`\eta < 2 / \lambda_1`, and after :math:`t` steps the share :math:`(1 - \eta \lambda_i)^t` of the residual along
# the :math:`i`-th eigenvector is left. So a hundred steps fit the first few directions, and hardly change the others.
#
# EigenPro shrinks the first :math:`q` eigenvalues to the next one. Its preconditioner is
#
# .. math::
#
#    P = I - \sum_{i=1}^q \left(1 - \frac{\lambda_{q+1}}{\lambda_i}\right) e_i e_i^\top ,
#
# with the eigenvectors :math:`e_i`. The spectrum of :math:`P K` begins at :math:`\lambda_{q+1}`, so the step may be
# :math:`\lambda_1 / \lambda_{q+1}` times longer, and every other direction converges that much faster.

eigenvalues, q = np.linalg.eigvalsh(rbf_kernel(X_train, gamma=0.5 / 25**2) / 1500)[::-1], 100
flattened = np.minimum(eigenvalues, eigenvalues[q])
for steps, style in ((1, ":"), (10, "--"), (100, "-")):
    left = [(1 - spectrum / spectrum[0]) ** steps for spectrum in (eigenvalues, flattened)]
    plt.semilogx(np.arange(1, 1501), left[0], style, color="tab:orange", label=f"gradient descent, steps: {steps}")
    plt.semilogx(np.arange(1, 1501), left[1], style, color="tab:blue", label=f"EigenPro with q = {q}, steps: {steps}")
plt.xlabel("number i of the eigenvector")
plt.ylabel("share of the residual that is left")
plt.legend(fontsize="small")
plt.show()

# %%
# The eigenvectors are not known, but good approximations are cheap: they come from the kernel matrix of a few thousand
# points of a subsample, and extend to all points by :math:`e_i \propto K_{\cdot M} v_i`. A step on a batch :math:`S`
# costs about as much as without preconditioner, because the correction changes only the coefficients of the subsample.
# ``KernelRidgeClassifier(solver="eigenpro")`` chooses :math:`q`, the batch and the step from the spectrum.
#
# Both solvers below have the same model, kernel and step rule; only the preconditioner differs.

from shallows import KernelRidgeClassifier
from shallows.solvers import EigenPro, KernelSGD

epochs = (1, 2, 4, 8, 16, 32)
for name, solver in {
    "kernel SGD": lambda n: KernelSGD(max_epochs=n, tol=0, batch_size=50),
    "EigenPro": lambda n: EigenPro(max_epochs=n, tol=0, batch_size=50, rank=100),
}.items():
    errors = []
    for n in epochs:
        model = KernelRidgeClassifier(
            solver=solver(n), bandwidth=60.0, alpha=0, n_components=None, calibration=None, random_state=0
        )
        errors.append(100 * (1 - model.fit(X_train, y_train).score(X_test, y_test)))
    plt.semilogx(epochs, errors, "o-", label=name)
plt.xlabel("epochs")
plt.ylabel("test error (%)")
plt.legend()
plt.show()

# %%
# More: :doc:`/methods/least_squares` has the formulas of all steps. The method is of Ma and Belkin (2017), "Diving into
# the shallows".
