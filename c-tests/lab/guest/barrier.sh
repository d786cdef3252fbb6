# shellcheck shell=bash
# Two guests meet at a barrier: each leaves a file in the directory that both write through to the host. Sourced after patience.sh.

# usage: barrier_of TEST POINT [SECONDS]    both guests wait for each other; fails when the other does not come
barrier_of() {
    local dir=$LAB_OUT/.barrier/$1 other=a
    [ "$LAB_SIDE" = a ] && other=b
    mkdir -p "$dir"
    : >"$dir/$2.$LAB_SIDE"
    wait_until "${3:-60}" [ -e "$dir/$2.$other" ]
}
