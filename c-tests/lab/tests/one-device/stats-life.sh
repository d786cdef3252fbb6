#!/bin/bash
# Statistics of processes that are killed, that fork, that have no room, and of 200 at once.
# limit: 200
# lane: stats
# shellcheck source=../../guest/lib.sh
. "$LAB_LIB"
need python3
export LAB_PORT=${LAB_FIRST_PORT:-18700} CMSHIM_STATS_DIR=/run/cmshim-test-life
rm -rf "$CMSHIM_STATS_DIR"
show() { python3 "$LAB_DIR/guest/stats.py" "$@"; }
until_says() { # FILE TEXT
    wait_until 30 has "$1" "$2" || fail "$1 never said '$2': $(cat "$1")"
}
inside_connect() { "$CMSHIM" events "$1" | grep -q 'rdma_connect: under way$'; }

# Killed in the middle of a connect: the file stays, says that its process is dead, and how far it had come.
for how in event call; do
    LAB_PORT=$((LAB_PORT + 1))
    CMSHIM_LOG_LEVEL=off start preloaded "$BIN/stats/hang" $how >"$LAB_TMP/hang.$how"
    pid=$!
    until_says "$LAB_TMP/hang.$how" connecting
    [ $how = event ] || wait_until 20 inside_connect $pid || fail "the connect is not under way"
    show "$CMSHIM_STATS_DIR/$pid.cmstats" >"$LAB_TMP/alive.$how"
    expect "$LAB_TMP/alive.$how" "^process $pid hang alive\$"
    kill -KILL $pid
    wait $pid 2>/dev/null
    show "$CMSHIM_STATS_DIR/$pid.cmstats" >"$LAB_TMP/dead.$how" || fail "the dead process's file cannot be read"
    expect "$LAB_TMP/dead.$how" "^process $pid hang dead\$"
    status=0
    [ $how = event ] || status=-2147483648 # not returned
    expect "$LAB_TMP/dead.$how" "^record [0-9]+ [0-9]+ 0x[0-9a-f]+ call rdma_connect $status $LAB_ADDR:$LAB_PORT 0\$"
    grep '^record' "$LAB_TMP/dead.$how" | tail -n 1 | grep -q ' call rdma_connect ' ||
        fail "the last record is not the connect: $(tail -n 1 "$LAB_TMP/dead.$how")"
done
rm -rf "$CMSHIM_STATS_DIR"

# 200 children at once and their parent: each has its own file, and nobody writes into another's.
hold=/run/cmshim-test-hold # the host's file system takes no fifo
rm -f $hold && mkfifo $hold || fail "no fifo"
preloaded "$BIN/stats/family" 200 <$hold >"$LAB_TMP/family" &
parent=$!
exec 7>$hold
until_says "$LAB_TMP/family" 'all there'
show "$CMSHIM_STATS_DIR"/*.cmstats >"$LAB_TMP/stats.family" || fail "not every file can be read"
exec 7>&-
finish $parent || fail "the family did not end well: $(cat "$LAB_TMP/family")"
expect "$LAB_TMP/family" '^200 ended well$'
[ "$(grep -c '^process [0-9]* family alive$' "$LAB_TMP/stats.family")" = 201 ] || fail "not 201 live processes: $(grep -c ^process "$LAB_TMP/stats.family")"
[ "$(grep '^process' "$LAB_TMP/stats.family" | sort -u | wc -l)" = 201 ] || fail "two files of one process"
# 3 by the parent, and 1 to 5 by 40 children each.
awk '/^entry rdma_create_id / { n[$3]++ } END { for (i in n) print i, n[i] }' "$LAB_TMP/stats.family" | sort >"$LAB_TMP/ids"
[ "$(cat "$LAB_TMP/ids")" = "$(printf '1 40\n2 40\n3 41\n4 40\n5 40')" ] || fail "ids made: $(cat "$LAB_TMP/ids")"
rm -rf "$CMSHIM_STATS_DIR"

# A signal handler that forks in the middle of a count.
preloaded "$BIN/stats/fork_inside" >"$LAB_TMP/fork_inside" || fail "fork_inside failed"
same <(printf 'the child ended with 0\ninside 1\n') "$LAB_TMP/fork_inside" "a fork in the middle of a count"
rm -rf "$CMSHIM_STATS_DIR"

# No room, no right, no tmpfs: one line, and the program does what it does bare.
mkdir /run/cmshim-test-full /run/cmshim-test-ro
mount -t tmpfs -o size=64k,mode=700 tmpfs /run/cmshim-test-full
mount -t tmpfs -o ro,mode=700 tmpfs /run/cmshim-test-ro
bare "$BIN/behaviour/refused" >"$LAB_TMP/refused.bare"
while read -r dir why; do
    CMSHIM_STATS_DIR=$dir CMSHIM_REASONS_ENABLE=false preloaded "$BIN/behaviour/refused" >"$LAB_TMP/refused" 2>"$LAB_TMP/err"
    same "$LAB_TMP/refused.bare" "$LAB_TMP/refused" "output with $dir"
    expect "$LAB_TMP/err" "^cmshim\[refused [0-9]+\]: statistics are off in this process: $dir: .*$why"
    [ "$(wc -l <"$LAB_TMP/err")" = 1 ] || fail "$dir: more than one line: $(cat "$LAB_TMP/err")"
done <<'END'
/run/cmshim-test-full ENOSPC
/run/cmshim-test-ro EROFS
/proc tmpfs
/run/no/such ENOENT
END
[ -z "$(ls -A /run/cmshim-test-full)" ] || fail "something was left in the full directory"
CMSHIM_STATS_ENABLE=false CMSHIM_STATS_DIR=/run/cmshim-test-off preloaded "$BIN/behaviour/refused" >"$LAB_TMP/refused" 2>/dev/null
[ ! -e /run/cmshim-test-off ] || fail "statistics are off, and a directory was made"
umount /run/cmshim-test-full /run/cmshim-test-ro
