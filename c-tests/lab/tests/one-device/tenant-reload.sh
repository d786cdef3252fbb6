#!/bin/bash
# The policy changes under load, by rename and by the symbolic link of a ConfigMap: no connect is lost, the new rules
# hold soon, and a file that is broken or gone leaves the old policy in effect, with one line.
# limit: 200
# lane: programs
# shellcheck source=../../guest/lib.sh
. "$LAB_LIB"
port=19780
# shellcheck source=../../../include/tenant.sh
. "$LAB_DIR/../include/tenant.sh"
need python3
addresses

# Who has 102 as a peer may change; 101 may always.
text() { # ACTION of 102
    printf 'default = "deny"\ntenant = [{ name = "always", peers = ["10.77.0.101"] }, { name = "changes", peers = ["10.77.0.102"], action = "%s" }]\n' "$1"
}
text allow | policy "$here/policy"
mkdir -p "$here/map"
version() { # NUMBER ACTION: as kubelet does it
    mkdir "$here/map/..$1"
    text "$2" | policy "$here/map/..$1/policy"
    ln -s "..$1" "$here/map/..data_tmp"
    mv -T "$here/map/..data_tmp" "$here/map/..data"
}
version 0 allow
ln -s ..data/policy "$here/map/policy"

settings=(CMSHIM_TENANT_POLICY="$here/policy")
serve file block at="$LAB_ADDR,$port" quiet=1
settings=(CMSHIM_TENANT_POLICY="$here/policy" CMSHIM_THREADS=off CMSHIM_EVENTS_MODE=off)
serve no_threads epoll at="$LAB_ADDR,$((port + 1))" quiet=1
settings=(CMSHIM_TENANT_POLICY="$here/map/policy")
serve map epoll at="$LAB_ADDR,$((port + 2))" quiet=1
await file no_threads map

denied="10.77.0.102 -> 10.77.0.1: in the end REJECTED 28, denied, tenant 'changes'"
allowed="10.77.0.102 -> 10.77.0.1: in the end ESTABLISHED 0"
becomes() { # PORT deny|allow
    local wanted=$allowed outcome=ESTABLISHED
    [ "$2" = allow ] || wanted=$denied outcome='REJECTED 28, denied'
    equal "port $1, $2" "$wanted" "$(client port="$1" from=10.77.0.102 "until=$outcome" 2>>"$LAB_TMP/times")"
}

# Connects go on meanwhile.
client port=$port from=10.77.0.101 flow="$here/done" >"$LAB_TMP/flow" 2>&1 &
flow=$!
client port=$((port + 2)) from=10.77.0.101 flow="$here/done" >"$LAB_TMP/flow_map" 2>&1 &
flow_map=$!
# In one program: each command of a shell takes long here.
python3 - "$here" "$(text deny)" "$(text allow)" <<'END_OF_PYTHON'
import os, sys, time
here, texts = sys.argv[1], sys.argv[2:]
for i in range(20):
    for name in [f"{here}/policy", f"{here}/map/..v{i}/policy"]:
        os.makedirs(os.path.dirname(name), exist_ok=True)
        with open(name + ".new", "w") as file:
            file.write("version = 1\n" + texts[i % 2])
        os.rename(name + ".new", name)
    os.symlink(f"..v{i}", f"{here}/map/..data_tmp")
    os.rename(f"{here}/map/..data_tmp", f"{here}/map/..data")
    time.sleep(0.2)
END_OF_PYTHON
text deny | policy "$here/policy"
version 21 deny
becomes $port deny
becomes $((port + 2)) deny
becomes $((port + 1)) deny
text allow | policy "$here/policy"
version 22 allow
becomes $port allow
becomes $((port + 2)) allow
becomes $((port + 1)) allow
: >"$here/done"
finish $flow 20
finish $flow_map 20
for name in flow flow_map; do
    equal "$name" 1 "$(grep -c ' -> ' "$LAB_TMP/$name")"
    expect "$LAB_TMP/$name" '^10.77.0.101 -> 10.77.0.1: [0-9]+ times ESTABLISHED 0$'
    cat "$LAB_TMP/$name"
done
echo "new rules held:" && cat "$LAB_TMP/times"

# Broken: line 3, and nothing changes; gone, the same. Then a good one is taken again.
printf 'version = 1\ndefault = "deny"\ntenannt = []\n' >"$here/policy.new"
mv "$here/policy.new" "$here/policy"
rm "$here/map/policy"
wait_until 20 has "$LAB_TMP/file.log" "$here/policy:3:1: " || fail "file: no line about line 3"
wait_until 20 has "$LAB_TMP/map.log" "$here/map/policy: no such file" || fail "map: no line about a file that is gone"
for name in file map no_threads; do
    number=$port
    [ "$name" != map ] || number=$((port + 2))
    [ "$name" != no_threads ] || number=$((port + 1))
    equal "$name, broken" "10.77.0.102 -> 10.77.0.1: 2 times ESTABLISHED 0
10.77.0.112 -> 10.77.0.1: REJECTED 28, no-tenant, tenant ''" "$(client port=$number from=10.77.0.102 tries=2 from=10.77.0.112 try)"
done
for name in file no_threads; do
    says "$name" "$here/policy:3:1: "
    equal "$name: one line" 1 "$(grep -c "policy:3:1" "$LAB_TMP/$name.log")"
done
says map "$here/map/policy: no such file; the policy that was in effect stays"
equal "map: one line" 1 "$(grep -c "map/policy: no such" "$LAB_TMP/map.log")"
"$CMSHIM" policy show "${server_of[file]}" --json >"$LAB_TMP/show" || fail "cmshim policy show"
equal "shown as broken" true "$(jq .broken "$LAB_TMP/show")"
text deny | policy "$here/policy"
ln -s ..data/policy "$here/map/policy"
version 23 deny
becomes $port deny
becomes $((port + 2)) deny
becomes $((port + 1)) deny
for name in file map no_threads; do ends "$name"; done
