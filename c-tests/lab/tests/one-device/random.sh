#!/bin/bash
# Random programs on the real kernel (docs/random-programs.md). RANDOM_SEEDS=30 for more of them.
# limit: 300
# lane: random
# shellcheck source=../../guest/lib.sh
. "$LAB_LIB"
export LAB_PORT=${LAB_FIRST_PORT:-18700} RANDOM_KERNEL=real
"$LAB_DIR/../random/run" --way "auto thread" "${RANDOM_FIRST:-1}" "${RANDOM_SEEDS:-4}" || fail "see above"
