"""Top eigensystems from a subsample, and preconditioners made of them.

The preconditioner of EigenPro (Ma and Belkin 2017, section 3) flattens the top of the spectrum of the operator
H = E k_x ⊗ k_x:

    P = I − Σᵢ (1 − τ (λ_{q+1}/λᵢ)^a) ψᵢ ⊗ ψᵢ,   i = 1..q,

with the eigenpairs (λᵢ, ψᵢ) of the operator on a subsample of M points, a = 1 in the paper's analysis and a = ½ in what
it prints for feature matrices. In the space of a kernel, for eigenvectors eᵢ of the M × M kernel matrix with
eigenvalues σᵢ, ψᵢ = σᵢ^(−1/2) Σⱼ eᵢⱼ k(xⱼ, ·), so applying P to a combination of kernel functions changes only the
coefficients of the subsample's points. With explicit features, ψᵢ is a vector of their space.
"""

from .certificates import Certificate
from .eigenpro_kernel import EigenProKernel
from .eigensystems import eigensystem, top_eigensystem
from .feature_preconditioner import (
    EIGENSYSTEMS,
    FeaturePreconditioner,
    load_feature_preconditioner,
    make_feature_preconditioner,
)
from .fitting import Spectrum, eigenspectrum, fit_preconditioner
from .kernel_preconditioner import Preconditioner, load_preconditioner, make_preconditioner
from .randomized_rows import make_rsvd_preconditioner
from .spectral_preconditioner import SpectralPreconditioner, filtered
