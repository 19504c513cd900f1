"""The rate of the machine now, beside something that does no products itself."""

import measuring

measuring.answer(sgemm_gflops=measuring.sgemm_gflops())
