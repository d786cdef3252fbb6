# shellcheck shell=bash
# Starts the guests, follows what they tell and counts. Sourced after guest.sh and plan.sh.
#
# Each guest appends to .events (two guests: .eventsa and .eventsb) in its log directory, also a pulse every few seconds. It is
# ended when its events tell nothing new (while it boots: its console), or when its tests do not end. What has no result then is
# played once more in a new guest, which is counted; tests without a result are failures.

PASSED=0 FAILED=0 SKIPPED=0
LAB_TTY=no
[ -t 1 ] && LAB_TTY=yes

declare -A PIDS=()   # TOPOLOGY:SIDE -> process group of the guest
declare -A SEEN=()   # TOPOLOGY:SIDE -> lines of its events already read
declare -A HEARD=()  # TOPOLOGY:SIDE -> when its console or its events last told something new
declare -A SIZE=()   # TOPOLOGY:SIDE -> how much its console had told then
declare -A MOVED=()  # TOPOLOGY:SIDE -> when a test last began or ended
declare -A SLOW=()   # TOPOLOGY:SIDE -> its slowness since then, at worst (include/patience.sh)
declare -A UP=()     # TOPOLOGY:SIDE -> yes once booted
declare -A BUSY=()   # TOPOLOGY:SIDE -> longest limit of the tests that it started
declare -A LIMIT=()  # TOPOLOGY/NAME -> its limit
declare -A STATUS=() # TOPOLOGY/NAME -> worst exit status so far
declare -A ENDS=()   # TOPOLOGY/NAME -> how many sides have ended it
declare -A STARTED=() # TOPOLOGY/NAME -> yes once it began
declare -A WHY=()    # TOPOLOGY -> what happened to its guest
declare -A AGAIN=()  # TOPOLOGY -> yes once its guest was started a second time, now while that is to come
WIRE=''

sides_of() { if [ "$1" = two-guests ]; then echo "a b"; else echo one; fi; }
suffix_of() { if [ "$1" = one ]; then echo ''; else echo "$1"; fi; }

watch_all() { # TOPOLOGY...
    local waiting=("$@") running=() topology still
    trap 'end_all; exit 130' INT TERM
    WIRE=$(mktemp -d)
    while [ "${#waiting[@]}" -gt 0 ] || [ "${#running[@]}" -gt 0 ]; do
        while [ "${#waiting[@]}" -gt 0 ] && has_room "${waiting[0]}" "${running[@]}"; do
            start_topology "${waiting[0]}"
            running+=("${waiting[0]}")
            waiting=("${waiting[@]:1}")
        done
        still=()
        for topology in "${running[@]}"; do
            if step "$topology"; then still+=("$topology"); else close_topology "$topology"; fi
            [ "${AGAIN[$topology]:-}" != now ] || { AGAIN[$topology]=yes; waiting+=("$topology"); }
        done
        running=("${still[@]}")
        sleep 0.3
    done
    rm -rf "$WIRE"
    trap - INT TERM
}

# Two guests count as two.
has_room() { # TOPOLOGY RUNNING...
    local room=${LAB_GUESTS:-2} topology used=0
    local wanted=$1
    shift
    [ "$#" -gt 0 ] || return 0
    for topology in "$@"; do
        used=$((used + $(sides_of "$topology" | wc -w)))
    done
    [ $((used + $(sides_of "$wanted" | wc -w))) -le "$room" ]
}

start_topology() {
    local topology=$1 dir=$LOGS/$1 side key name limit
    while read -r name limit _; do LIMIT[$topology/$name]=$limit; done <"$dir/.plan"
    say "lab: booting the guest of $topology ($(wc -l <"$dir/.plan") tests)"
    for side in $(sides_of "$topology"); do
        key=$topology:$side
        : >"$dir/.events$(suffix_of "$side")"
        start_guest "$topology" "$dir" "$(suffix_of "$side")" "$WIRE" run-tests.sh
        PIDS[$key]=$GUEST_PID SEEN[$key]=0 HEARD[$key]=$SECONDS SIZE[$key]=0 UP[$key]=no BUSY[$key]=0
    done
}

# Read what is new; false when the topology is over.
step() {
    local topology=$1 side alive=no
    for side in $(sides_of "$topology"); do
        read_events "$topology" "$side"
        kill -0 "${PIDS[$topology:$side]}" 2>/dev/null || continue
        alive=yes
        check_silence "$topology" "$side"
    done
    [ "$alive" = yes ]
}

check_silence() { # TOPOLOGY SIDE
    local key=$1:$2 limit=${LAB_STILL:-300} size
    # A kernel that hangs may go on complaining of it: once the guest is up, only its events count.
    size=$(stat -c %s "$LOGS/$1/.console$(suffix_of "$2")")
    [ "${UP[$key]}" = yes ] || [ "$size" = "${SIZE[$key]}" ] || SIZE[$key]=$size HEARD[$key]=$SECONDS
    if [ $((SECONDS - HEARD[$key])) -gt "$limit" ]; then
        WHY[$1]="the guest hung: nothing new came from it for $limit s"
    elif [ "${UP[$key]}" = yes ] &&
        [ $((SECONDS - MOVED[$key])) -gt $((limit + BUSY[$key] * ${LAB_PATIENCE:-5} * SLOW[$key] / 100)) ]; then
        WHY[$1]="the guest lives, but no test has begun or ended for $((SECONDS - MOVED[$key])) s"
    else
        return
    fi
    end_group "${PIDS[$key]}"
}

read_events() { # TOPOLOGY SIDE
    local topology=$1 side=$2 key=$1:$2 what name status secs
    while read -r what name status secs; do
        SEEN[$key]=$((SEEN[$key] + 1))
        HEARD[$key]=$SECONDS
        case $what in
            up) [ "$side" = b ] || say "lab: $topology is up, slowness $name %"; UP[$key]=yes MOVED[$key]=$SECONDS SLOW[$key]=$name ;;
            pulse) [ "$name" -le "${SLOW[$key]}" ] || SLOW[$key]=$name ;;
            start) STARTED[$topology/$name]=yes; [ "${LIMIT[$topology/$name]:-60}" -le "${BUSY[$key]}" ] || BUSY[$key]=${LIMIT[$topology/$name]:-60} ;;
            end) test_ended "$topology" "$name" "$status" "$secs" ;;
        esac
        [ "$what" = pulse ] || MOVED[$key]=$SECONDS
    done < <(tail -n "+$((SEEN[$key] + 1))" "$LOGS/$topology/.events$(suffix_of "$side")")
}

# With two guests a test has passed when both sides have.
test_ended() { # TOPOLOGY NAME STATUS SECONDS
    local topology=$1 id=$1/$2
    ENDS[$id]=$((${ENDS[$id]:-0} + 1))
    case ${STATUS[$id]:-0}:$3 in
        0:*) STATUS[$id]=$3 ;;
        77:0 | 77:77) ;;
        77:*) STATUS[$id]=$3 ;;
    esac
    [ "${ENDS[$id]}" = "$(sides_of "$topology" | wc -w)" ] || return 0
    result "$topology" "$2" "${STATUS[$id]}" "$4"
}

result() { # TOPOLOGY NAME STATUS SECONDS
    local dir=$LOGS/$1/$2
    case $3 in
        0) PASSED=$((PASSED + 1)); line pass "$@" ;;
        77) SKIPPED=$((SKIPPED + 1)); line skip "$@" "$(cat "$dir"/out "$dir"/?/out 2>/dev/null | grep -a '^skip' | tail -n 1)" ;;
        *) FAILED=$((FAILED + 1)); line FAIL "$@" "exit status $3"; show_failure "$1" "$2" ;;
    esac
}

# What tests did once more (once_more WHAT): counted, since a test that needs it often is not good.
tell_retries() { # TOPOLOGY...
    local told
    told=$(cd "$LOGS" && cat "${@/%//.retries}" 2>/dev/null)
    [ -z "$told" ] || say "$told"
    say "lab: $(grep -c . <<<"$told") retries"
}

line() { # WORD TOPOLOGY NAME STATUS SECONDS [NOTE]
    local on='' off=''
    if [ "$LAB_TTY" = yes ]; then
        off=$'\e[0m'
        case $1 in pass) on=$'\e[32m' ;; FAIL) on=$'\e[31m' ;; *) on=$'\e[33m' ;; esac
    fi
    printf '%s%s%s  %-11s  %-44s %6s s%s\n' "$on" "$1" "$off" "$2" "$3" "$5" "${6:+  $6}"
}

# As a part of our own output, whatever it is.
legible() { LC_ALL=C tr -cd '\t\n -~' | cut -c 1-300 | sed 's/^/    | /'; }

show_failure() { # TOPOLOGY NAME
    local dir=$LOGS/$1/$2 out
    for out in "$dir"/out "$dir"/[ab]/out; do
        [ -e "$out" ] || continue
        tail -n "${LAB_TAIL:-15}" "$out" | legible
        say "    log: $out"
    done
    say "    a shell in the same state: c-tests/lab/shell $1"
}

# The guest is gone: whatever has no result has failed.
close_topology() {
    local topology=$1 dir=$LOGS/$1 side name word missing=()
    for side in $(sides_of "$topology"); do
        wait "${PIDS[$topology:$side]}" 2>/dev/null
        read_events "$topology" "$side"
        unset "PIDS[$topology:$side]"
    done
    while read -r name _; do
        [ "${ENDS[$topology/$name]:-0}" -ge "$(sides_of "$topology" | wc -w)" ] || missing+=("$name")
    done <"$dir/.plan"
    [ "${#missing[@]}" -gt 0 ] || return 0
    for side in $(sides_of "$topology"); do explain_end "$topology" "$(suffix_of "$side")"; done
    if [ -z "${AGAIN[$topology]:-}" ]; then
        play_again "$topology" "${missing[@]}"
        return
    fi
    for name in "${missing[@]}"; do
        FAILED=$((FAILED + 1))
        if [ -n "${STARTED[$topology/$name]:-}" ]; then word="no result"; else word="not run"; fi
        line FAIL "$topology" "$name" 99 - "$word: ${WHY[$topology]:-the guest ended early}"
    done
}

# A guest that is gone is no test's fault, or it is gone again: what has no result is played once more.
play_again() { # TOPOLOGY NAME...
    local topology=$1 dir=$LOGS/$1 name rest side
    shift
    echo "lab: $topology: ${WHY[$topology]:-the guest ended early}; its $# tests without a result once more in a new one" >>"$dir/.retries"
    for name in "$@"; do
        unset "ENDS[$topology/$name]" "STATUS[$topology/$name]" "STARTED[$topology/$name]"
    done
    while read -r name rest; do
        case " $* " in *" $name "*) printf '%s %s\n' "$name" "$rest" ;; esac
    done <"$dir/.plan" >"$dir/.plan.again"
    mv "$dir/.plan.again" "$dir/.plan"
    for side in $(sides_of "$topology"); do
        mv "$dir/.console$(suffix_of "$side")" "$dir/.console$(suffix_of "$side").first"
    done
    unset "WHY[$topology]"
    AGAIN[$topology]=now
}

explain_end() { # TOPOLOGY SIDE
    local topology=$1 console=$LOGS/$1/.console$2
    if grep -aqE 'Kernel panic' "$console"; then
        WHY[$topology]="the guest's kernel panicked"
    elif [ ! -s "$LOGS/$topology/.events$2" ] && [ -z "${WHY[$topology]:-}" ]; then
        WHY[$topology]="the guest did not come up"
    fi
    say "lab: $topology${2:+ $2}: ${WHY[$topology]:-the guest ended early}; the end of its console:"
    { grep -aE 'BUG:|Oops|Kernel panic' "$console" | head -n 5; tail -n 15 "$console"; } | legible
    say "    console: $console"
}

end_all() {
    local key
    for key in "${!PIDS[@]}"; do end_group "${PIDS[$key]}"; done
    rm -rf "$WIRE"
}
