# shellcheck shell=bash
# How slow this guest is, measured by a fixed work: in percent of what an idle emulated guest needs, into /run/lab-slowness.
# Sourced by setup.sh. What is made of it: include/patience.sh.

# Microseconds of one beat in an idle emulated guest, rounded up: a guest with one processor has needed less on a busy machine.
PULSE_REFERENCE=60000
PULSE_BEATS=6         # so many beats are looked at together

# A program's start and some work of the shell's own; sets $took to its microseconds.
beat() {
    local begin=${EPOCHREALTIME/[.,]/} i
    /bin/true
    for ((i = 0; i < 500; i++)); do :; done
    took=$((${EPOCHREALTIME/[.,]/} - begin))
}

# Takes in one more beat and writes the mean of the last ones.
pulse() {
    local took sum=0 one
    beat
    PULSE_LAST+=("$took")
    [ "${#PULSE_LAST[@]}" -le "$PULSE_BEATS" ] || PULSE_LAST=("${PULSE_LAST[@]:1}")
    for one in "${PULSE_LAST[@]}"; do sum=$((sum + one)); done
    LAB_SLOWNESS=$((sum * 100 / (${#PULSE_LAST[@]} * PULSE_REFERENCE)))
    [ "$LAB_SLOWNESS" -ge 100 ] || LAB_SLOWNESS=100
    echo "$LAB_SLOWNESS" >/run/lab-slowness
}
