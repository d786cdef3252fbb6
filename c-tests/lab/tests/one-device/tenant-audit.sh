#!/bin/bash
# The audit log: one JSON object for each decision, for both directions; with a limit for lines, what was left out is
# counted. A file that cannot be written harms nothing.
# limit: 200
# lane: pool-churn
# shellcheck source=../../guest/lib.sh
. "$LAB_LIB"
port=19840
# shellcheck source=../../../include/tenant.sh
. "$LAB_DIR/../include/tenant.sh"
addresses
policy "$here/policy" <<END_OF_POLICY
default = "deny"

[[tenant]]
name = "two"
peers = ["10.77.0.101"]
max_connections = 1

[[tenant]]
name = "six"
peers = ["fd77::/64"]
action = "deny"

[[tenant]]
name = "slow"
peers = ["10.77.0.104"]
rate = 0.001
burst = 1
  [[tenant.egress]]
  to = ["10.77.0.1"]
  ports = [$port]
  action = "deny"
END_OF_POLICY
sed 's/^default/mode = "observe"\ndefault/' "$here/policy" >"$here/observe"

settings=(CMSHIM_TENANT_POLICY="$here/policy")
audit() { settings+=(CMSHIM_TENANT_AUDIT="$LAB_TMP/$1-%p.jsonl"); }
audit refused
serve refused block at="$LAB_ADDR,$port" at="fd77::1,$port" quiet=1
settings=(CMSHIM_TENANT_POLICY="$here/policy" CMSHIM_TENANT_AUDIT_ALLOWED=true CMSHIM_EVENTS_MODE=off)
audit all
serve all epoll at="$LAB_ADDR,$((port + 1))" at="fd77::1,$((port + 1))" quiet=1
settings=(CMSHIM_TENANT_POLICY="$here/policy" CMSHIM_TENANT_AUDIT_PER_S=1 CMSHIM_LOG_LEVEL=off)
audit few
serve few block at="$LAB_ADDR,$((port + 2))" quiet=1
settings=(CMSHIM_TENANT_POLICY="$here/observe" CMSHIM_TENANT_DIR="$here/observed")
mkdir "$here/observed"
audit observe
serve observe block at="$LAB_ADDR,$((port + 3))" at="fd77::1,$((port + 3))" quiet=1
settings=(CMSHIM_TENANT_POLICY="$here/policy" CMSHIM_TENANT_AUDIT=/proc/no/such/file)
serve nowhere block at="$LAB_ADDR,$((port + 4))" quiet=1
await refused all few observe nowhere
steps=(from=10.77.0.101 keep try drop to=fd77::1 from=fd77::11 try to=10.77.0.1 from=10.77.0.104 tries=2 from=10.81.0.5 try)
client port=$port "${steps[@]}" >"$LAB_TMP/client.out"
client port=$((port + 1)) from=10.77.0.101 until=ESTABLISHED "${steps[@]}" >>"$LAB_TMP/client.out" 2>"$LAB_TMP/times"
client port=$((port + 3)) "${steps[@]}" >>"$LAB_TMP/client.out"
equal "few" "10.81.0.5 -> 10.77.0.1: 60 times REJECTED 28, no-tenant, tenant ''
10.81.0.5 -> 10.77.0.1: REJECTED 28, no-tenant, tenant ''" "$(client port=$((port + 2)) from=10.81.0.5 flood=60 sleep=1200 try)"
equal "nowhere" "10.81.0.5 -> 10.77.0.1: REJECTED 28, no-tenant, tenant ''" "$(client port=$((port + 4)) from=10.81.0.5 try)"
says nowhere "tenant.audit /proc/no/such/file cannot be written"
CMSHIM_TENANT_NAME=slow CMSHIM_TENANT_POLICY=$here/policy CMSHIM_TENANT_AUDIT=$LAB_TMP/out.jsonl CMSHIM_LOG_LEVEL=off \
    preloaded "$BIN/tenant/client" port=$port try >>"$LAB_TMP/client.out"
# What egress_default allows is written for a tenant of the policy, and not for who is none.
for name in slow ''; do
    CMSHIM_TENANT_NAME=$name CMSHIM_TENANT_POLICY=$here/policy CMSHIM_TENANT_AUDIT=$LAB_TMP/allowed.jsonl CMSHIM_TENANT_AUDIT_ALLOWED=true \
        CMSHIM_LOG_LEVEL=off preloaded "$BIN/tenant/client" port=$((port + 4)) from=10.77.0.101 try >>"$LAB_TMP/client.out"
done

lines() { jq -c "$2" "$LAB_TMP/$1"*.jsonl || fail "$1: no JSON"; }
told='[.direction, .peer, .local, .port, .pkey, .tenant, .decision, .reason, .used, .limit, .line]'
equal "refused" '["in","10.77.0.101","10.77.0.1",19840,65535,"two","refuse","over-limit",1,1,4]
["in","fd77::11","fd77::1",19840,65535,"six","refuse","denied",null,null,9]
["in","10.77.0.104","10.77.0.1",19840,65535,"slow","refuse","rate",null,null,14]
["in","10.81.0.5","10.77.0.1",19840,65535,null,"refuse","no-tenant",null,null,null]' "$(lines refused "$told")"
equal "one file for each process, all of one program" "[\"server\",${server_of[refused]},\"$here/policy\",true]" \
    "$(lines refused '[.program, .pid, .policy, (.time | test("^20[0-9-]+T[0-9:]+\\.[0-9]{6}Z$"))]' | sort -u)"
equal "retry" true "$(lines refused 'select(.reason == "rate") | .retry_after_ms > 1000 and .retry_after_ms <= 1000000')"
equal "all: allowed and refused, with the rate that all share" '[2,5]' "$(jq -sc '[map(select(.decision == "allow")), map(select(.decision == "refuse"))] | map(length)' "$LAB_TMP"/all-*.jsonl)"
equal "observed" '[["denied",1],["no-tenant",1],["over-limit",1],["rate",1]]' \
    "$(jq -sc 'map(select(.decision == "would-refuse")) | group_by(.reason) | map([.[0].reason, length])' "$LAB_TMP"/observe-*.jsonl)"
equal "egress" '["out","10.77.0.1",19840,"slow","refuse","denied"]' "$(lines out '[.direction, .peer, .port, .tenant, .decision, .reason]')"
equal "egress_default" '["out","10.77.0.1",19844,"slow","allow",null,null]' "$(lines allowed '[.direction, .peer, .port, .tenant, .decision, .reason, .line]')"
equal "few: lines and what they leave out" 61 "$(jq -s 'map(1 + (.dropped // 0)) | add' "$LAB_TMP"/few-*.jsonl)"
# As many as the rate lets through in the time that the lines themselves tell, and some at the start.
equal "few: the rate is kept" true "$(jq -s 'def at: .time | sub("\\.[0-9]+"; "") | fromdate;
    length <= (last | at) - (first | at) + 3' "$LAB_TMP"/few-*.jsonl)"
for name in refused all few observe nowhere; do kill "${server_of[$name]}"; done
for name in refused all few observe nowhere; do ends "$name"; done
