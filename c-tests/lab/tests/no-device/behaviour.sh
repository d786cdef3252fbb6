#!/bin/bash
# A machine without RDMA: programs fail as they do bare, and the line says why. The library's own calls work here too.
# limit: 120
# shellcheck source=../../../include/pair.sh
. "$(dirname "$0")/../../../include/pair.sh"

scene_refused() { run program "$BIN/behaviour/refused"; }
pair refused
shown program 'rdma_create_event_channel() = NULL'
line program this-kernel setup 'rdma_create_event_channel'
scene_tasks() { run program "$BIN/behaviour/tasks"; }
pair tasks
shown program 'threads 1, RDMA libraries mapped 0'
no_lines program

own=$LAB_TMP/own
bare=$("$BIN/behaviour/own_api")
[ "$bare" = 'no cmshim' ] || fault "own_api without the library: $bare"
LD_PRELOAD=$CMSHIM_LIB "$BIN/behaviour/own_api" >"$own" 2>/dev/null || fault "own_api: exit status $?"
for wanted in '^version [0-9]+\.[0-9]+\.[0-9]+' '^active 1$' '^length right 1$' 'nobody listens there' '^cut 1, ended 1$' \
    '^unknown event explained 1$' '^active 1, errno untouched$'; do
    grep -qE "$wanted" "$own" || fault "own_api does not print '$wanted': $(cat "$own")"
done
CMSHIM_DISABLE=true LD_PRELOAD=$CMSHIM_LIB "$BIN/behaviour/own_api" 2>/dev/null | grep -q '^active 0$' || fault "disabled, but active"
finish
