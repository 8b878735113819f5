#!/bin/sh
# A loss that falls with the steps, and noise: noise.sh RATE SEED. It stands for any program that prints its numbers.
awk -v rate="$1" -v seed="$2" 'BEGIN {
  srand(seed)
  for (step = 10; step <= 50; step += 10) printf "step %d: loss %.6f\n", step, exp(-rate * step) + 0.02 * rand()
}'
