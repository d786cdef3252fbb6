# shellcheck shell=bash
# Runs one unmodified program bare and preloaded and compares all that it says. Sourced by the tests beside it, which set
#   server=(...)  client=(...)    the two commands; server may be empty. Or, where the second run cannot have the ports of
#                                 the first one, a function "commands RUN" that sets them (RUN is 0, then 1)
#   port=N                        the port to wait for before the client starts; or, for what the kernel lists elsewhere,
#   server_is_up() { ... }        true when it can be used: tcp_listens PORT, joined GROUP
#   server_end=exit|kill          does the server end by itself (default) or must it be ended?
#   own_race=REGEX                what the client says when the two programs have met too early, as they may do bare: then that
#                                 run is made again, at most three times
#   pooled=yes                    they create the same kind of queue pair more than once: the pool has to be at work
#   tidy() { ... }                what to take out of the output before comparing (default: scrub)
# shellcheck source=../../../guest/lib.sh
. "$LAB_LIB"

# The pool at work from the first queue pair on: what it does to a program shows here, if anywhere.
export CMSHIM_POOL_WARM=8

server=() client=() port='' server_end=exit own_race='' pooled=''
tidy() { scrub; }

commands() { :; }

until_served() {
    if [ -n "$port" ]; then wait_listen "$port"; else wait_until 20 server_is_up || fail "the server does not come up"; fi
}

listed() { # FILE TEXT: one of the kernel's lists, which cannot be read at once
    local line
    while read -r line; do [[ $line != *"$2"* ]] || return 0; done <"$1"
    return 1
}
tcp_listens() { # PORT: on any address, of either family
    local hex
    printf -v hex '%04X' "$1"
    listed /proc/net/tcp ":$hex 00000000:0000 0A" || listed /proc/net/tcp6 ":$hex 00000000000000000000000000000000:0000 0A"
}
joined() { # GROUP as /proc/net/igmp has it
    listed /proc/net/igmp "$1"
}

run() { # bare|preloaded RUN
    local i
    for i in 1 2 3 4; do
        run_once "$@"
        [ -n "$own_race" ] && grep -qE -- "$own_race" "$LAB_TMP/$1".client.{out,err} || return 0
        once_more "the $1 programs met too early, as they may"
    done
}

run_once() { # bare|preloaded RUN
    commands "$2"
    local how=$1 out=$LAB_TMP/$1 pid=''
    if [ "${#server[@]}" -gt 0 ]; then
        start "$how" "${server[@]}" >"$out.server.out" 2>"$out.server.err"
        pid=$!
        until_served
    fi
    start "$how" "${client[@]}" >"$out.client.out" 2>"$out.client.err"
    local client_pid=$!
    finish "$client_pid" 40
    echo $? >"$out.client.status"
    if [ -n "$pid" ]; then
        if [ "$server_end" = kill ]; then
            # Its connections are over.
            nap 1
            settled "$how" "$pid"
            kill -TERM "$pid"
        fi
        finish "$pid" 20
        echo $? >"$out.server.status"
    fi
    echo "$client_pid" >"$out.client.pid"
    echo "$pid" >"$out.server.pid"
    nothing_left "$how"
}

# Both programs have ended: the kernel may have nothing of them. It lists what has outlived its thread without a pid. (So it does
# with what an ended thread of a living program made, which in another lane may be there for a while.)
nothing_left() { # bare|preloaded
    local left
    printf 'resource show %s\n' qp cq pd mr cm_id ctx srq >"$LAB_TMP/batch"
    wait_until 60 kernel_has_nothing || fail "the $1 programs have ended, and the kernel still has: $left"
}

kernel_has_nothing() {
    local line
    left=''
    while read -r line; do
        [[ $line == *' pid '* || $line == *' comm ['* ]] || left+=$line$'\n'
    done < <(rdma -b "$LAB_TMP/batch")
    [ -z "$left" ]
}

# How many objects of a program that lives the kernel has, by kind (lqpn, cqn, pdn, mrn, cm-idn, ctxn). Each belongs to the thread
# that made it; what the keeper made lies ready for the next connection.
resources() { # PID
    local tasks=("/proc/$1/task"/*)
    printf 'resource show %s\n' qp cq pd mr cm_id ctx >"$LAB_TMP/batch"
    tasks=("${tasks[@]##*/}")
    rdma -b "$LAB_TMP/batch" | grep -E " pid ($(IFS='|' && echo "${tasks[*]}")) " | grep -v ' comm cmshim-keeper' |
        sed -E 's/^[^ ]+ [^ ]+ ([^ ]+).*/\1/' | sort | uniq -c
}

# A list may lack some, where other programs' objects go while the kernel makes it in parts, and a connection that ends has some for
# a while. So of the bare one the most of several lists count; the preloaded one gets some time to have no more than that.
settled() { # bare|preloaded PID
    local i out=$LAB_TMP/$1.resources
    if [ "$1" = bare ]; then
        for i in 1 2 3 4; do
            resources "$2"
            nap 0.2
        done | awk '$1 > most[$2] { most[$2] = $1 } END { for (kind in most) print most[kind], kind }' >"$out"
        return
    fi
    wait_until 6 fewer "$2"
    return 0
}
fewer() { # PID
    resources "$1" >"$LAB_TMP/preloaded.resources"
    no_more_than_bare >/dev/null
}

no_more_than_bare() {
    awk 'FILENAME == ARGV[1] { bare[$2] = $1; next } $1 > bare[$2] { print "bare " bare[$2] + 0 ", preloaded " $1 " of " $2; more = 1 } END { exit more }' \
        "$LAB_TMP/bare.resources" "$LAB_TMP/preloaded.resources"
}

# Was the pool at work in the preloaded run? (Whether what it made came in time depends on how busy the machine is.)
made_ahead() {
    local side all=0 made
    for side in client server; do
        made=$("$CMSHIM" stat --json "$(<"$LAB_TMP/preloaded.$side.pid")" | grep -oE '"pool_filled": *[0-9]+' | grep -oE '[0-9]+$')
        all=$((all + ${made:-0}))
    done
    echo "$all queue pairs were made ahead"
    [ "$all" -gt 0 ] || fail "the pool made no queue pair"
}

compare() { # PART
    local part=$1 how
    [ "$(<"$LAB_TMP/bare.$part")" != "$(<"$LAB_TMP/preloaded.$part")" ] || return 0
    for how in bare preloaded; do
        tidy <"$LAB_TMP/$how.$part" >"$LAB_TMP/$how.$part.tidy"
    done
    same "$LAB_TMP/bare.$part.tidy" "$LAB_TMP/preloaded.$part.tidy" "$part of the bare and of the preloaded run"
}

# usage: twice [STATUS_OF_BARE_CLIENT]
twice() {
    local part
    run bare 0
    [ "$(<"$LAB_TMP/bare.client.status")" = "${1:-0}" ] || {
        tail -n 5 "$LAB_TMP"/bare.*
        fail "the bare client does not work here: exit status $(<"$LAB_TMP/bare.client.status")"
    }
    run preloaded 1
    for part in client.status client.err client.out server.status server.err server.out; do
        [ ! -e "$LAB_TMP/bare.$part" ] || compare "$part"
    done
    [ ! -e "$LAB_TMP/bare.resources" ] || no_more_than_bare || fail "the kernel has more of the preloaded program"
    [ -z "$pooled" ] || made_ahead
}
