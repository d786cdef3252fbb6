#!/bin/bash
# Runs in a guest: the tests of the plan ($LAB_OUT/.plan), each lane of them in a row, the lanes beside each other.
# Tells the host what happens in $LAB_OUT/.events$LAB_SIDE: "up SLOWNESS", "start NAME", "end NAME STATUS SECONDS", "finished", and
# all the time "pulse SLOWNESS", by which it sees that the guest lives.

events=$LAB_OUT/.events$LAB_SIDE
event() { echo "$*" >>"$events"; }

# shellcheck source=setup.sh
. "$LAB_DIR/guest/setup.sh"
# shellcheck source=barrier.sh
. "$LAB_DIR/guest/barrier.sh"

event up "$LAB_SLOWNESS"

keep_pulse() {
    while :; do
        nap 5
        pulse
        event pulse "$LAB_SLOWNESS"
    done
}
keep_pulse &
keeper=$!

# Run one test with its time limit; its leftovers (its whole session) are ended afterwards.
run_test() { # NAME LIMIT SCRIPT
    local name=$1 limit=$2 script=$3 dir=$LAB_OUT/$1 begin since status session watcher
    [ -n "$LAB_SIDE" ] && dir=$dir/$LAB_SIDE
    rm -rf "$dir" # of an earlier run (run --keep)
    mkdir -p "$dir/tmp"
    export LAB_TEST=$name LAB_TMP=$dir/tmp
    if [ -n "$LAB_SIDE" ] && ! barrier_of "$name" start 120; then
        echo "lab: the other guest did not start this test" >"$dir/out"
        event end "$name" 124 0
        return
    fi
    event start "$name"
    read -r since _ </proc/uptime
    begin=${EPOCHREALTIME/[.,]/}
    cd "$LAB_DIR" || exit 3
    look_slowness
    setsid bash "$script" ${LAB_SIDE:+"$LAB_SIDE"} >"$dir/out" 2>&1 </dev/null &
    session=$!
    end_when_overdue "$session" "$limit" "$dir/overdue" &
    watcher=$!
    wait "$session"
    status=$?
    kill "$watcher"
    wait "$watcher" 2>/dev/null
    pkill -KILL -s "$session"
    dmesg_since "$since" >"$dir/dmesg"
    if grep -qE 'BUG:|Oops|Call Trace' "$dir/dmesg"; then
        echo "lab: the kernel complained during this test, see dmesg" >>"$dir/out"
    else
        rm -f "$dir/dmesg"
    fi
    if [ -e "$dir/overdue" ]; then
        status=124
        tell_timeout "$(<"$dir/overdue")" >>"$dir/out"
    fi
    case $status in 0 | 77) rmdir "$dir/tmp" 2>/dev/null ;; esac
    event end "$name" "$status" "$(seconds_since "$begin")"
}

# Ends a test that takes longer than it may in this guest; FILE tells how long it was let.
end_when_overdue() { # SESSION LIMIT FILE
    local begin=$EPOCHSECONDS
    until overdue "$begin" "$2"; do nap 1; done
    echo $((EPOCHSECONDS - begin)) >"$3"
    kill -TERM -- "-$1"
    nap 5
    kill -KILL -- "-$1"
}

# What a test that ran out of time left behind is mostly what its programs said last.
tell_timeout() { # LIMIT
    local file
    for file in "$LAB_TMP"/*; do
        [ -f "$file" ] && grep -qI . "$file" || continue # programs are there, too
        echo "--- the end of ${file##*/}:"
        tail -n 3 "$file"
        echo
    done
    echo "lab: ended after $1 s, which is too long even for this guest (slowness $LAB_SLOWNESS %)"
}

seconds_since() { # MICROSECONDS
    local tenths=$(((${EPOCHREALTIME/[.,]/} - $1) / 100000))
    echo "$((tenths / 10)).$((tenths % 10))"
}

dmesg_since() { # SECONDS since boot
    dmesg | awk -v since="$1" '{ t = $0; sub(/^\[ */, "", t); if (t + 0 >= since) print }'
}

# A lane is a row of tests that run one after another; lanes run beside each other.
run_lane() { # LANE
    local name limit lane script number=0
    while read -r name limit lane script <&3; do
        # Tests run beside each other: each has ports of its own, below those that the kernel gives out.
        export LAB_FIRST_PORT=$((21000 + 150 * number))
        number=$((number + 1))
        [ "$lane" != "$1" ] || run_test "$name" "$limit" "$script"
    done 3<"$LAB_OUT/.plan"
}

run_all() {
    local lane lanes=()
    while read -r lane; do
        run_lane "$lane" &
        lanes+=($!)
    done < <(cut -d' ' -f3 "$LAB_OUT/.plan" | sort -u)
    wait "${lanes[@]}"
    kill "$keeper"
    event finished
}

run_all; exit 0 # on one line: this file may be edited on the host while the tests run
