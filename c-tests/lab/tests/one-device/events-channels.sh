#!/bin/bash
# Very many channels at once, and as many as a small limit of descriptors allows.
# limit: 200
# lane: events
# shellcheck source=../../../include/pair.sh
. "$(dirname "$0")/../../../include/pair.sh"
# shellcheck source=../../../include/modes.sh
. "$(dirname "$0")/../../../include/modes.sh"

scene_channels() { run program "$BIN/events/channels" 4000; }
MODES=${MANY_MODES:-auto thread} modes channels
shown program 'all have told their event: 1'

scene_limited() { run program "$BIN/events/channels" 1000 256 "$LAB_TMP/$scene.$way.number"; }
modes limited CMSHIM_LOG_LEVEL=off # no file can be opened for a line
shown program 'errno EMFILE'
bare=$(cat "$LAB_TMP/limited.bare.number")
for mode in $MODES; do
    number=$(cat "$LAB_TMP/limited-$mode.shim.number")
    echo "channels with 256 descriptors: bare $bare, $mode $number"
    # One more descriptor for a channel, and a few for all.
    [ "$number" -ge $((bare / 2 - 8)) ] || fault "$mode: $number channels, bare $bare"
done
finish
