# shellcheck shell=bash
# Which tests are there, and which of them run. Sourced after paths.sh.

# The tests of a topology, one a line: NAME LIMIT LANE SCRIPT. Files that start with _ are helpers.
# Tests of one lane run one after another, lanes beside each other. A test is in the lane "main", or says
#   # lane: NAME    to be in another one, or
#   # parallel      to have a lane of its own, because it mostly waits
# Two guests run one test at a time, so that both are always in the same one.
tests_of() {
    local topology=$1 dir=$LAB_DIR/tests/$1 script name limit lane
    [ -d "$dir" ] || return 0
    find "$dir" -name '*.sh' ! -name '_*' | LC_ALL=C sort | while read -r script; do
        name=${script#"$dir"/}
        name=${name%.sh}
        limit=$(sed -nE 's/^# limit: *([0-9]+).*/\1/p' "$script" | head -n 1)
        limit=${limit:-60} # in an idle guest: include/patience.sh
        lane=$(sed -nE 's/^# lane: *([a-z0-9-]+).*/\1/p' "$script" | head -n 1)
        grep -qE '^# parallel\b' "$script" && lane=${name//\//-}
        [ "$topology" != two-guests ] || lane=main
        printf '%s %s %s %s\n' "$name" "$limit" "${lane:-main}" "$script"
    done
}

# usage: matches TOPOLOGY NAME WANTED...
matches() {
    local topology=$1 name=$2 wanted
    shift 2
    [ "$#" -gt 0 ] || return 0
    for wanted in "$@"; do
        wanted=${wanted%.sh}
        wanted=${wanted##*c-tests/lab/tests/}
        wanted=${wanted%/}
        case $topology/$name in
            "$wanted" | "$topology/$wanted" | "$wanted"/* | "$topology/$wanted"/*) return 0 ;;
        esac
    done
    return 1
}

# The tests of a topology that the command line asks for.
plan() { # TOPOLOGY WANTED...
    local topology=$1 name rest
    shift
    tests_of "$topology" | while read -r name rest; do
        matches "$topology" "$name" "$@" && printf '%s %s\n' "$name" "$rest"
    done
}

# Every name on the command line must mean a test, else a typing mistake would look like a pass.
check_names() {
    local wanted topology found status=0
    for wanted in "$@"; do
        found=no
        for topology in $TOPOLOGIES; do
            [ -z "$(plan "$topology" "$wanted")" ] || found=yes
        done
        [ "$found" = yes ] || { say "lab: no test is called '$wanted' (run --list shows all)" >&2; status=1; }
    done
    return $status
}
