"""The rate of the machine now, next to a program that computes no products."""

import measuring

measuring.answer(sgemm_gflops=measuring.sgemm_gflops())
