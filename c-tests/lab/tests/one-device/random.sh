#!/bin/bash
# Random programs on the real kernel (docs/random-programs.md).
# Only where a number is asked for: the guest of all tests hung in both whole runs in which this stood (a lock-up in its kernel, some
# of it after this test had passed). Why is not known.
# limit: 300
# lane: random
# shellcheck source=../../guest/lib.sh
. "$LAB_LIB"
[ -n "${RANDOM_SEEDS:-}" ] || skip "RANDOM_SEEDS is not set"
export LAB_PORT=${LAB_FIRST_PORT:-18700} RANDOM_KERNEL=real
"$LAB_DIR/../random/run" --way "auto thread" "${RANDOM_FIRST:-1}" "$RANDOM_SEEDS" || fail "see above"
