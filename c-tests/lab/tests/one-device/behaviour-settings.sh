#!/bin/bash
# Settings, good and bad, and surroundings that give the shim little room: the program always does what it does bare.
# limit: 300
# shellcheck source=../../../include/pair.sh
. "$(dirname "$0")/../../../include/pair.sh"
beh=$BIN/behaviour
chmod 777 "$LAB_TMP"
chmod 666 /dev/infiniband/*

# One failing connection, with these settings; stderr is kept apart, where a complaint may go.
refused() { # NAME [KEY=VALUE…]
    local name=$1; shift
    eval "scene_$name() { run program sh -c 'exec \"\$0\" 2>\"\$1\"' '$beh/refused' \"\$LAB_TMP/$name.\$way.err\"; }"
    pair "$name" "$@"
    shown program 'REJECTED 8'
}
err() { cat "$LAB_TMP/$scene.shim.err" "$(log_of program)" 2>/dev/null; }
complains() { err | grep -qE -- "$1" || fault "no complaint about '$1': $(err)"; }

refused plain
line program peer-kernel connect 'REJECTED 8'
refused text CMSHIM_LOG_FORMAT=text
grep -qE "^cmshim\[refused [0-9]+\]: connect .*$LAB_ADDR:[0-9]+ refused by the peer's kernel after .*REJECTED 8, IB_CM_REJ_INVALID_SERVICE_ID" \
    "$(log_of program)" || fault "text line: $(cat "$(log_of program)")"
[ "$(wc -l <"$(log_of program)")" = 1 ] || fault "more than one physical line"
refused to_stderr CMSHIM_LOG_FILE=
complains 'REJECTED 8'
refused threads_off CMSHIM_THREADS=off
line program peer-kernel connect 'REJECTED 8'
refused disabled CMSHIM_DISABLE=true
[ -z "$(err)" ] || fault "disabled, but: $(err)"
refused skipped CMSHIM_SKIP=other,refused
[ -z "$(err)" ] || fault "skipped, but: $(err)"
refused silent CMSHIM_LOG_LEVEL=off
[ -z "$(err)" ] || fault "level off, but: $(err)"
refused reasons_off CMSHIM_REASONS_ENABLE=false
[ -z "$(err)" ] || fault "reasons off, but: $(err)"

echo 'listen = [[[ oops' >"$LAB_TMP/broken.toml"
refused broken_config CMSHIM_CONFIG="$LAB_TMP/broken.toml"
complains 'broken\.toml'
line program peer-kernel connect 'REJECTED 8'
printf '[listen]\nmin_backlog = "many"\n' >"$LAB_TMP/wrong.toml"
refused wrong_value CMSHIM_CONFIG="$LAB_TMP/wrong.toml"
complains 'wrong\.toml.*min_backlog|min_backlog.*wrong\.toml'
line program peer-kernel connect 'REJECTED 8'
refused no_config CMSHIM_CONFIG=/nowhere/at/all.toml
complains '/nowhere/at/all\.toml'
refused config_is_directory CMSHIM_CONFIG=/usr
complains '/usr'
refused wrong_variable CMSHIM_LISTEN_MIN_BACKLOG=lots
complains 'CMSHIM_LISTEN_MIN_BACKLOG'
refused unwritable CMSHIM_LOG_FILE=/proc/nowhere/x.log
refused per_process CMSHIM_LOG_FILE="$LAB_TMP/per-process.%p.log"
[ -e "$(echo "$LAB_TMP"/per-process.[0-9]*.log)" ] || fault "no log file with a process id: $(ls "$LAB_TMP")"

# What stands at descriptor 2 is not ours.
for mode in datafile full broken wake; do
    eval "scene_stderr_$mode() { run program '$beh/stderr' $mode \$([ $mode = datafile ] && echo \"\$LAB_TMP/\$way.data\"); }"
    pair stderr_$mode CMSHIM_LOG_FILE=
    shown program 'exit status 0'
done
scene=stderr_wake
shown program 'woken: 0'
cmp "$LAB_TMP/bare.data" "$LAB_TMP/shim.data" || fault "the program's data file got something"

# No thread can be started; at every limit of descriptors the program gets as far as it does bare.
# Log files that another user can open again: in the guest, new files on the host's file system belong to root.
open_log() { : >"$LAB_TMP/$1.program.log"; chmod 666 "$LAB_TMP/$1.program.log"; }
open_log no_threads
open_log memlock

scene_no_threads() { run program "$beh/refused" nobody threads 1; }
pair no_threads
shown program 'REJECTED 8'
line program peer-kernel connect 'REJECTED 8'
for n in 3 4 5 6 7 8 9 10; do
    eval "scene_files_$n() { run program sh -c 'exec \"\$0\" files $n 2>/dev/null' '$beh/refused'; }"
    pair files_$n
done

scene_memlock() { run program "$beh/refused" nobody memlock 65536; }
pair memlock
shown program 'errno ENOMEM'
line program this-kernel memory 'ENOMEM' 'select(tostring | test("memlock|ulimit -l"; "i"))'

# A setuid copy started by another user: the loader ignores the preload.
scene_setuid() { run program setpriv --reuid=65534 --clear-groups "$copy"; }
copy=/usr/local/bin/refused-setuid-copy
cp "$beh/refused" "$copy" && chmod 4755 "$copy"
pair setuid
shown program 'REJECTED 8'
no_lines program
rm -f "$copy"
finish
