"""A real model that nobody here trained, on real questions: `make smollm2`."""
