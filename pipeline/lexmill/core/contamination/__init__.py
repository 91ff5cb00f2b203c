"""Documents that hold items of benchmarks."""
