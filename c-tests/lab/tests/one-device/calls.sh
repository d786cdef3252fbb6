#!/bin/bash
# Each program of c-tests/calls, bare and preloaded: return values, errno and effects are the same.
# limit: 300
# shellcheck source=../../../include/pair.sh
. "$(dirname "$0")/../../../include/pair.sh"

program=
scene_call() { run program "$BIN/calls/$program"; }
for path in "$BIN"/calls/*; do
    program=$(basename "$path")
    eval "scene_$program() { scene_call; }"
    pair "$program"
    shown program 'exit status 0'
done
finish
