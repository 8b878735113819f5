// Carries the precompiled <torch/torch.h> that every LibTorch-using target shares.
