#!/bin/bash
# A short long run on the real kernel (docs/random-programs.md): processes that are killed and restarted, with all features on, leave
# nothing in the kernel.
# Only where a number is asked for: the guest of all tests hung in both whole runs in which this stood (a lock-up in its kernel, some
# of it after this test had passed). Why is not known.
# limit: 300
# lane: soak
# shellcheck source=../../guest/lib.sh
. "$LAB_LIB"
[ -n "${SOAK_CONNECTIONS:-}" ] || skip "SOAK_CONNECTIONS is not set"
need jq rdma
export LAB_PORT=${LAB_FIRST_PORT:-18700} SOAK_KERNEL=real
for host in 101 102; do ip addr add 10.77.0.$host/24 dev "$LAB_NETDEV"; done

"$LAB_DIR/../soak/run" "$SOAK_CONNECTIONS" >"$LAB_TMP/soak" 2>&1 || fail "$(<"$LAB_TMP/soak")"
cat "$LAB_TMP/soak"
# Whoever it was: none of its programs has anything, not even what its name would be missing from.
left() { for kind in cm_id qp cq pd mr; do rdma resource show "$kind" | grep ' comm soak '; done; }
nothing_left() { [ -z "$(left)" ]; }
wait_until 20 nothing_left || fail "$(left)"
