# shellcheck shell=bash
# Two guests meet at a barrier: each leaves a file in the directory that both write through to the host.

# usage: barrier_of TEST POINT [SECONDS]    both guests wait for each other; fails when the other does not come
barrier_of() {
    local dir=$LAB_OUT/.barrier/$1 other=a limit=${3:-60} i
    [ "$LAB_SIDE" = a ] && other=b
    mkdir -p "$dir"
    : >"$dir/$2.$LAB_SIDE"
    for ((i = 0; i < limit * 5; i++)); do
        [ -e "$dir/$2.$other" ] && return 0
        read -rt 0.2 <> <(:) # sleep, without starting a program
    done
    return 1
}
