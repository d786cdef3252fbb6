#!/bin/bash
# The program sleeps: a thousand refused connects, and no thread of it is woken, no id is left, and its listener can be
# destroyed at once. Whoever is allowed is served afterwards.
# limit: 200
# lane: programs
# shellcheck source=../../guest/lib.sh
. "$LAB_LIB"
port=19740
# shellcheck source=../../../include/tenant.sh
. "$LAB_DIR/../include/tenant.sh"
addresses
policy "$here/policy" <<'END_OF_POLICY'
default = "deny"
tenant = [{ name = "good", peers = ["10.77.0.101"] }]
END_OF_POLICY

# Context switches of the program's own threads, by the kernel's count.
switches() { # PID
    local task line name sum=0
    for task in "/proc/$1/task/"*; do
        name=
        while read -r line; do
            case $line in
                Name:*) name=${line#Name:*[[:space:]]} ;;
                voluntary* | nonvoluntary*) case $name in cmshim-*) ;; *) sum=$((sum + ${line##*[[:space:]]})) ;; esac ;;
            esac
        done <"$task/status"
    done
    echo $sum
}

# Until it waits.
settled() { # PID
    local before=-1 now
    wait_until 20 same_again "$1" || fail "the server is never quiet"
    echo "$now"
}
same_again() { # PID
    before=${now:--1}
    nap 0.2
    now=$(switches "$1")
    [ "$now" = "$before" ]
}

ways="block epoll edge"
declare -A before=() port_of=()
settings=(CMSHIM_TENANT_POLICY="$here/policy")
for way in $ways; do
    port_of[$way]=$((port++))
    serve "$way" "$way" at="$LAB_ADDR,${port_of[$way]}" quiet=1
done
# Where the tap is not to look, the program is woken: this is what the test would see.
settings+=(CMSHIM_EVENTS_MODE=off)
port_of[off]=$((port++))
serve off epoll at="$LAB_ADDR,${port_of[off]}" quiet=1
# shellcheck disable=SC2086 # words
await $ways off
for way in $ways off; do before[$way]=$(settled "${server_of[$way]}"); done

declare -A number=([block]=1000 [epoll]=1000 [edge]=200 [off]=20)
steps=(from=10.77.0.112 at=32) wanted=
for way in $ways off; do
    steps+=(port="${port_of[$way]}" flood="${number[$way]}")
    wanted+="10.77.0.112 -> 10.77.0.1: ${number[$way]} times REJECTED 28, no-tenant, tenant ''"$'\n'
done
SECONDS=0
equal flood "${wanted%$'\n'}" "$(client "${steps[@]}")"
echo "flood: $SECONDS s"

for way in $ways; do
    pid=${server_of[$way]}
    woken=$(($(switches "$pid") - before[$way]))
    echo "$way: ${number[$way]} refused connects, $woken context switches of the program's threads"
    [ "$woken" = 0 ] || fail "$way: the program was woken"
done
# shellcheck disable=SC2086 # words
no_ids_left $ways off
[ $(($(switches "${server_of[off]}") - before[off])) -ge 20 ] || fail "off: the program was not woken, so the count is wrong"

steps=(from=10.77.0.101)
for way in $ways off; do steps+=(port="${port_of[$way]}" try); done
equal "who is allowed" 4 "$(client "${steps[@]}" | grep -cx '10.77.0.101 -> 10.77.0.1: ESTABLISHED 0')"
for way in $ways off; do kill "${server_of[$way]}"; done
for way in $ways off; do
    ends "$way"
    expect "$LAB_TMP/$way.out" "listeners gone$"
    expect "$LAB_TMP/$way.out" "^server: 1 times CONNECT_REQUEST"
    [ "$way" = off ] || expect "$LAB_TMP/$way.out" "for nothing 0 times"
done
