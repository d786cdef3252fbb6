# shellcheck shell=bash
# Access checks in the benchmark, inside the guest: how long the connects of a client that is allowed take, with no flood,
# and beside a flood of connects that are refused: by a bare program itself, and by the policy beneath a preloaded one.
# In turn; medians over the rounds. Sourced with guest/lib.sh, by bench.sh or alone.

tenants_port=8900
printf 'version = 1\ndefault = "allow"\ntenant = [{ name = "flood", peers = ["10.77.0.120"], action = "deny" }]\n' >"$LAB_TMP/tenants.toml"
ip addr replace 10.77.0.120/24 dev "$LAB_NETDEV"
ip addr replace 10.77.0.121/24 dev "$LAB_NETDEV"
for _ in {1..50}; do
    grep -qs ':ffff:0a4d:0079' /sys/class/infiniband/rxe0/ports/1/gids/* && break
    nap 0.1
done

tenants_round() { # NAME LIBRARY WAY FLOOD SETTING
    tenants_port=$((tenants_port + 1))
    (
        export "$5" CMSHIM_LOG_FILE=$LAB_TMP/tenants.log BENCH_SERVER_PRELOAD=$2
        "$BIN/bench/tenants" "$LAB_ADDR" $tenants_port "${BENCH_CYCLES:-100}" 10.77.0.121 10.77.0.120 "$4" \
            "$BIN/tenant/server" "$3" "at=$LAB_ADDR,$tenants_port" deny=10.77.0.120 quiet=1 backlog=256
    ) >>"$LAB_TMP/tenants.$1" || fail "bench/tenants does not run: $1"
}

tenants_column() { # NAME COLUMN
    awk -v column="$2" '{ print $column }' "$LAB_TMP/tenants.$1" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

flood=${BENCH_FLOOD:-16}
policy=CMSHIM_TENANT_POLICY=$LAB_TMP/tenants.toml
rm -f "$LAB_TMP"/tenants.*_*
for ((i = 1; i <= ${BENCH_ROUNDS:-5}; i++)); do
    for way in epoll block; do
        tenants_round "${way}_bare_alone" "" $way 0 A=a
        tenants_round "${way}_policy_alone" "$CMSHIM_LIB" $way 0 "$policy"
        tenants_round "${way}_bare_flood" "" $way "$flood" A=a
        tenants_round "${way}_policy_flood" "$CMSHIM_LIB" $way "$flood" "$policy"
    done
done
echo "connects of an allowed client beside $flood refused ones at a time (the flood runs bare, on the same two processors)"
printf '%-52s %8s %8s %10s %9s\n' '' 'p50 us' 'p99 us' refused/s 'wakes per'
for way in epoll block; do
    for name in bare_alone policy_alone bare_flood policy_flood; do
        title=${name/bare_alone/bare, no flood} title=${title/policy_alone/preloaded with a policy, no flood}
        title=${title/bare_flood/bare, the program rejects} title=${title/policy_flood/preloaded, the policy refuses}
        printf '%-52s %8s %8s %10s %9s\n' "$way: $title" "$(tenants_column "${way}_$name" 1)" "$(tenants_column "${way}_$name" 2)" \
            "$(tenants_column "${way}_$name" 3)" "$(tenants_column "${way}_$name" 4)"
    done
done
