"""EigenPro's step and the plain one in turns, as ``benchmarks/iteration.py`` takes them, for one rank and one batch."""

import measuring

program = measuring.program("iteration")

before = measuring.sgemm_gflops()
(found,) = program.measured(program.options(measuring.asked()["arguments"]))
after = measuring.sgemm_gflops()
step_seconds, plain_seconds = found["seconds"]
measuring.answer(
    ratio=found["ratio"],
    quartiles=found["quartiles"],
    step_seconds=step_seconds,
    plain_seconds=plain_seconds,
    rank=found["rank"],
    n_subsample=found["n_subsample"],
    batch_size=found["batch"],
    sgemm_gflops=(before + after) / 2,
)
