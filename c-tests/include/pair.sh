# shellcheck shell=bash disable=SC2034
# Runs scenes twice, bare and preloaded, and compares. Sourced by the connections, behaviour and calls tests.
#
# A scene is a function scene_NAME that starts its programs with `run WHO command…` (in the foreground) or
# `back WHO command…` (in the background; wait for a line with `until_says WHO text`, for its end with `join WHO`, or
# end it with `stop WHO`). It has a port of its own: $port, and LAB_PORT for the programs.
# `pair NAME` plays it in both ways at the same time (`pair_apart NAME`: one after the other); then the .out files
# must be equal (exit status included), and the log of the preloaded run is looked at with `line`, `no_lines` and
# `at_most`. `finish` gives the exit status of the test.

: "${LAB_TMP:?}" "${CMSHIM_LIB:?}" "${BIN:?}"
# shellcheck source=patience.sh
. "$(dirname "${BASH_SOURCE[0]}")/patience.sh"
export LAB_ADDR=${LAB_ADDR:-10.77.0.1}
port=${LAB_FIRST_PORT:-18700}
scene=
declare -A pids=()
unset LD_PRELOAD
trap 'kill $(jobs -p) 2>/dev/null' EXIT

# Counted in a file: scenes run in subshells.
fault() {
    echo "FAIL $scene: $*"
    echo x >>"$LAB_TMP/faults"
}

out_of() { echo "$LAB_TMP/$scene.$way.$1.out"; }

# One program in its environment. OWN_PRELOAD: objects that lie beneath in both ways.
# The tests' own tools (sleep, jq, grep) are never preloaded.
# No `env`: in an emulated guest every further exec costs 0.1 s.
dressed() { # WHO command…
    local who=$1; shift
    look_slowness
    (
        if [ "$way" = shim ]; then
            export CMSHIM_LOG_FORMAT=json CMSHIM_LOG_FILE="$LAB_TMP/$scene.$who.log" "${settings[@]}"
            export LD_PRELOAD="$CMSHIM_LIB${OWN_PRELOAD:+ $OWN_PRELOAD}"
        elif [ -n "${OWN_PRELOAD:-}" ]; then
            export LD_PRELOAD="$OWN_PRELOAD"
        fi
        exec "$@" >"$(out_of "$who")" 2>&1 </dev/null
    )
    echo "exit status $?" >>"$(out_of "$who")"
}

# bash itself says which of its children died, with their numbers: not into the outputs.
run() { dressed "$@" 2>/dev/null; } # WHO command…

back() { # WHO command…
    dressed "$@" 2>/dev/null &
    pids[$1]=$!
}

until_says() { # WHO text
    wait_until 20 has "$LAB_TMP/$scene.$way.$1.out" "$2" || fault "$1 ($way) never said '$2'"
}

join() { # WHO: wait for its end
    wait "${pids[$1]}" 2>/dev/null
}

children_of() { # PID: its children
    { echo "$(<"/proc/$1/task/$1/children")"; } 2>/dev/null
}

stop() { # WHO: end the program, not the shell that notes its exit status
    local child
    for child in $(children_of "${pids[$1]}"); do kill "$child" 2>/dev/null; done
    join "$1"
}

play() { # way
    way=$1
    [ "$way" = bare ] || port=$((port + 1))
    export LAB_PORT=$port
    "scene_$scene"
}

# Equal, or shows the difference. (A program is started only for that.)
same_output() { # FILE FILE
    local one='' two=''
    # Reading ends at the end of the file (1), or sooner at a zero byte (0).
    { ! IFS= read -rd '' one <"$1" && ! IFS= read -rd '' two <"$2" && [ -n "$one" ] && [ "$one" = "$two" ]; } 2>/dev/null ||
        diff -u "$1" "$2"
}

compare() {
    local bare
    for bare in "$LAB_TMP/$scene".bare.*.out; do
        same_output "$bare" "${bare/.bare./.shim.}" || fault "output differs: ${bare##*/}"
    done
    port=$((port + 2))
    echo "played $scene"
}

pair() { # NAME [KEY=VALUE of the shim…]
    scene=$1; shift
    settings=("$@")
    local one two
    (play bare) & one=$!
    (play shim) & two=$!
    wait $one $two
    compare
}

pair_apart() { # NAME [KEY=VALUE of the shim…]
    scene=$1; shift
    settings=("$@")
    (play bare)
    (play shim)
    compare
}

log_of() { echo "$LAB_TMP/$scene.$1.log"; }

# A line of this program with who, stage and a part of the code. More conditions in jq: line … 'select(…)'.
line() { # PROGRAM who stage code [jq filter]
    local found
    found=$(jq -c "select(.who == \"$2\" and .stage == \"$3\" and (.code // \"\" | contains(\"$4\"))) | ${5:-.}" "$(log_of "$1")" 2>/dev/null)
    [ -n "$found" ] && return
    fault "$1: no line with who $2, stage $3, code $4 ${5:-}; the log has:"
    cat "$(log_of "$1")" 2>/dev/null
}

# Some line of this program whose text has these words.
says() { # PROGRAM regular-expression
    grep -qE -- "$2" "$(log_of "$1")" 2>/dev/null && return
    fault "$1: no line says '$2'; the log has:"
    cat "$(log_of "$1")" 2>/dev/null
}

no_lines() { # PROGRAM
    [ -s "$(log_of "$1")" ] || return 0
    fault "$1: expected no line, the log has:"
    cat "$(log_of "$1")"
}

at_most() { # PROGRAM count
    local n
    n=$(cat "$(log_of "$1")" 2>/dev/null | wc -l)
    [ "$n" -le "$2" ] || { fault "$1: $n lines, expected at most $2"; head -5 "$(log_of "$1")"; }
}

# The statistics that the preloaded program of this scene left behind, or has: true for this jq filter?
counted() { # jq-filter [PID]
    local found=$LAB_TMP/$scene.stat pid=${2:-}
    [ -n "$pid" ] || pid=$(jq -s '.[0].pid' "$(log_of program)")
    "$CMSHIM" stat --json "$pid" >"$found" && jq -e "$1" "$found" >/dev/null ||
        fault "the statistics are not so: $1; they are: $(jq -c '{counters, bypasses, phases: (.phases | map_values(.count))}' "$found")"
}

# Something in an output file of both ways, so that equal but wrong outputs do not pass.
shown() { # WHO text
    case $2 in
        *[].*^$\\[]*) grep -q -- "$2" "$LAB_TMP/$scene.bare.$1.out" && return ;;
        *) has "$LAB_TMP/$scene.bare.$1.out" "$2" && return ;; # no pattern: no program is needed
    esac
    fault "$1 (bare) did not print '$2':"
    cat "$LAB_TMP/$scene.bare.$1.out"
}

finish() {
    scene=all
    cat "$LAB_TMP"/*.log 2>/dev/null | grep -v '^cmshim\[' | jq -es 'all(type == "object")' >/dev/null || fault "a line is no JSON object"
    [ -e "$LAB_TMP/faults" ] || { echo "no faults"; exit 0; }
    echo "$(wc -l <"$LAB_TMP/faults") faults"
    exit 1
}
