// Carries the precompiled headers of the tests that do without LibTorch.
