//! Comments and the definitions they describe, taken apart: what the model learns from and the benchmark asks.
