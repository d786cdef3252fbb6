#!/bin/bash
# The thread that reads events: it is there when asked for, on the CPUs that were asked for, and only then.
# limit: 120
# lane: events
# shellcheck source=../../guest/lib.sh
. "$LAB_LIB"
need rping
port=${LAB_FIRST_PORT:-18700}

thread_of() { # PID: its task id
    local task
    for task in /proc/"$1"/task/*; do
        [ "$(<"$task/comm")" = cmshim-events ] && basename "$task"
    done
}

serve() { # KEY=VALUE…: an rping server with these settings; $server, and its lines in $LAB_TMP/lines
    port=$((port + 1))
    env LD_PRELOAD="$CMSHIM_LIB" CMSHIM_LOG_FILE="$LAB_TMP/lines" "$@" rping -s -a "$LAB_ADDR" -p $port -C 3 >"$LAB_TMP/server.out" 2>&1 &
    server=$!
    wait_listen $port
}

works() { # a client is served, and the server ends well
    bare rping -c -a "$LAB_ADDR" -p $port -C 3 >"$LAB_TMP/client.out" 2>&1 || fail "the client fails: $(tail -n 3 "$LAB_TMP/client.out")"
    finish "$server" || fail "the server ends with $?: $(tail -n 3 "$LAB_TMP/server.out")"
}

: >"$LAB_TMP/lines"
serve CMSHIM_EVENTS_MODE=auto
[ -z "$(thread_of "$server")" ] || fail "a thread reads events although nobody asked for it"
works

serve CMSHIM_EVENTS_CPUS=1
task=$(thread_of "$server")
[ -n "$task" ] || fail "no thread reads events: $(cat /proc/"$server"/task/*/comm)"
expect "/proc/$server/task/$task/status" '^Cpus_allowed_list:[[:space:]]1$'
expect "/proc/$server/task/$task/status" '^SigBlk:[[:space:]]fffffffe' # the program's handlers never run on it
works
[ ! -s "$LAB_TMP/lines" ] || fail "lines: $(<"$LAB_TMP/lines")"

serve CMSHIM_EVENTS_CPUS=1 CMSHIM_THREADS=off
[ -z "$(thread_of "$server")" ] || fail "a thread with threads = off"
works

serve CMSHIM_EVENTS_CPUS=device
[ -n "$(thread_of "$server")" ] || fail "no thread reads events"
works
expect "$LAB_TMP/lines" 'events.cpus: .* runs on any CPU: no RDMA device tells its NUMA node'

serve CMSHIM_EVENTS_CPUS=1000
works
expect "$LAB_TMP/lines" 'events.cpus: .* runs on any CPU: Invalid argument'

ticks() { # PID TASK: what it has used, in hundredths of a second
    local stat
    stat=$(<"/proc/$1/task/$2/stat")
    set -- ${stat##*) }
    echo $((${12} + ${13}))
}

serve_clients() { # KEY=VALUE…: a server for any number of them; sets $task, the thread
    port=$((port + 1))
    env LD_PRELOAD="$CMSHIM_LIB" CMSHIM_LOG_FILE="$LAB_TMP/lines" "$@" rping -s -P -a "$LAB_ADDR" -p $port >"$LAB_TMP/server.out" 2>&1 &
    server=$!
    wait_listen $port
    task=$(thread_of "$server")
    before=$(ticks "$server" "$task")
}
one_more() {
    clients=$((clients + 1))
    bare rping -c -a "$LAB_ADDR" -p $port -C 3 >"$LAB_TMP/client.out" 2>&1 || fail "the client fails: $(tail -n 3 "$LAB_TMP/client.out")"
    nap 1
    used=$(($(ticks "$server" "$task") - before))
}
end_server() {
    kill "$server"
    wait "$server" 2>/dev/null
}

# After each event the thread looks for more without sleeping, for a second. How many clients that takes to be seen depends on how
# busy the machine is; the same number costs a thread that sleeps less.
clients=0
at_work() { one_more && [ "$used" -gt 20 ]; }
serve_clients CMSHIM_EVENTS_BUSY_POLL_US=1000000
wait_until 20 at_work || fail "busy polling does not keep the thread awake: $used ticks for $clients clients"
end_server
busy=$used wanted=$clients clients=0
serve_clients CMSHIM_EVENTS_MODE=thread
while [ "$clients" -lt "$wanted" ]; do one_more; done
end_server
echo "ticks for $clients clients: $used asleep, $busy busy"
[ "$used" -lt "$busy" ] || fail "the thread that sleeps works as much"
exit 0
