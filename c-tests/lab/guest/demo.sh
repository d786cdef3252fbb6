# shellcheck shell=bash
# The demonstration: one connection that works, and three that fail, bare and with cmshim. Sourced with guest/lib.sh.

port=${DEMO_PORT:-7174}
[ -t 1 ] && bold=$'\e[1m' plain=$'\e[0m' || bold='' plain=''

title() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }
indented() { fold -s -w 110 | sed 's/^/    /'; }

# Show a command and its output, at most LIMIT seconds of it.
run_shown() { # LIMIT COMMAND...
    local limit=$1 status
    shift
    printf '  $ %s\n' "${*//$CMSHIM/cmshim}"
    timeout --kill-after=2 "$limit" "$@" >"$LAB_TMP/shown" 2>&1 </dev/null
    status=$?
    indented <"$LAB_TMP/shown"
    [ -s "$LAB_TMP/shown" ] || printf '    (nothing)\n'
    [ "$status" = 124 ] && printf '    ... still waiting after %s s; ended\n' "$limit"
    return 0
}

# The same program bare, then under cmshim.
compare_shown() { # LIMIT COMMAND...
    local limit=$1
    shift
    echo "  bare:"
    run_shown "$limit" "$@"
    echo "  with cmshim:"
    run_shown "$limit" "$CMSHIM" run -- "$@"
}

title "1. It works: an unmodified rping, server and client started by cmshim run"
"$CMSHIM" run -- rping -s -a "$LAB_ADDR" -p "$port" -C 3 >"$LAB_TMP/server" 2>&1 &
server=$!
wait_listen "$port"
run_shown 20 "$CMSHIM" run -- rping -c -a "$LAB_ADDR" -p "$port" -C 3 -v
finish "$server"
echo "  cmshim said nothing, because nothing failed. (Each of its lines below is one line, folded here to be read.)"

title "2. No listener on that port"
compare_shown 20 rping -c -a "$LAB_ADDR" -p $((port + 1)) -C 1

title "3. Refused by the server's program"
start bare "$BIN/connections/server" "$LAB_ADDR" $((port + 2)) reject n=2 data="no seat left" >/dev/null 2>&1
wait_listen $((port + 2))
compare_shown 20 rping -c -a "$LAB_ADDR" -p $((port + 2)) -C 1

title "4. No answer: the machine is there, but does no RDMA (the kernel gives up after about 100 s)"
if [ -n "${LAB_SILENT:-}" ]; then
    export CMSHIM_REASONS_EARLY_WARNING_MS=2000
    compare_shown 6 rping -c -a "$LAB_SILENT" -p "$port" -C 1
    echo "  (early warning set to 2 s here; 5 s by default)"
else
    echo "  not shown: set DEMO_SILENT to the address of a machine that answers ARP and does no RDMA"
fi
echo
