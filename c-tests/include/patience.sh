# shellcheck shell=bash
# How long tests wait: the one place that decides. A test says how many seconds something takes in an idle guest. The deadline is
# LAB_PATIENCE times as long, and longer still in a slow guest: what hangs does so for ever, and a busy machine is no failure.
#
#   nap SECONDS                   sleep that starts no program
#   wait_until SECONDS COMMAND…   wait until the command succeeds; false when that is overdue
#   overdue BEGIN SECONDS         is it overdue, when it began at $EPOCHSECONDS = BEGIN and takes SECONDS?
#   has FILE TEXT                 the file has this text (no pattern); starts no program
#   look_slowness                 sets LAB_SLOWNESS; call it before a program starts
#   once_more WHAT               tell that something is done once more: the run counts these, and shows them at its end
#
# LAB_SLOWNESS is the time that the guest needs for a fixed work now, in percent of what an idle emulated guest needs (never below
# 100). The guest measures it all the time (guest/pulse.sh), so a machine that becomes busy later counts, too. C programs read
# the variable: within(MS), SOON and end_if_hung(SECONDS) of cm.h.

LAB_PATIENCE=${LAB_PATIENCE:-5}
LAB_SLOWNESS=${LAB_SLOWNESS:-100}
export LAB_PATIENCE LAB_SLOWNESS

nap() {
    # Nothing ever comes out of that pipe. Opened and closed each time: no program of a test inherits it.
    if [ -p /run/lab-nap ]; then read -rt "$1" <>/run/lab-nap; else read -rt "$1" <> <(:); fi || :
}

look_slowness() {
    local now
    { read -r now </run/lab-slowness; } 2>/dev/null && [ -n "$now" ] && LAB_SLOWNESS=$now
    return 0
}

overdue() { # BEGIN SECONDS
    look_slowness
    ((EPOCHSECONDS - $1 > $2 * LAB_PATIENCE * LAB_SLOWNESS / 100))
}

wait_until() { # SECONDS COMMAND…
    local wait_limit=$1 wait_begin=$EPOCHSECONDS # names that no COMMAND uses: it sees them
    shift
    until "$@"; do
        ! overdue "$wait_begin" "$wait_limit" || return 1
        nap 0.1
    done
}

has() { # FILE TEXT
    local all=''
    { IFS= read -rd '' all <"$1"; } 2>/dev/null
    [[ $all == *"$2"* ]]
}

once_more() { # WHAT
    echo "once more: $*"
    echo "${LAB_TEST:-}: $*" >>"${LAB_OUT:-$LAB_TMP}/.retries"
}
