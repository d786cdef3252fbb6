#!/bin/bash
# What stands against a thread that reads events for the program (credentials, descriptors, a set that is closed), and what must
# not be seen of it: the same bare and preloaded, in every mode of event batching and under a tenant policy.
# limit: 200
# lane: events
# shellcheck source=../../../include/pair.sh
. "$(dirname "$0")/../../../include/pair.sh"
# shellcheck source=../../../include/modes.sh
. "$(dirname "$0")/../../../include/modes.sh"
MODES=$ALL_MODES

alike() { # NAME parts…
    eval "scene_$1() { run program $(printf '%q ' "$BIN/events/$1" "${@:2}"); }"
    modes "$1"
    shown program 'exit status 0'
}

told() { # NAME MODE regular-expression: one line says this, and no other
    scene=$1-$2
    says program "$3"
    [ "$(grep -cE -- "$3" "$(log_of program)")" = 1 ] || fault "more than one line says '$3'"
    scene=$1
}

alike credentials later later-nonblock before before-nonblock thread thread-nonblock
shown program 'errno EACCES'
told credentials thread 'thread that reads events cannot read those of an event channel .*EACCES'
told credentials policy 'thread that reads events cannot read those of an event channel .*EACCES'

scene_dropped() { run program "$BIN/events/credentials" dropped; }
modes dropped CMSHIM_LOG_LEVEL=off # the log is not this user's any more
shown program 'errno EACCES'

alike exclusive after before queued after-nonblock before-nonblock queued-nonblock after-copy before-nonblock-copy wrong wrong-nonblock-copy

alike no_descriptors
shown program 'no descriptor left: readable 1'
scene_full() { run program "$BIN/events/no_descriptors" nonblock; }
modes full

scene_handler() { run program "$BIN/events/handler"; }
modes handler
scene_interrupted() { run program "$BIN/events/handler" nonblock; }
modes interrupted
shown program 'allocated or freed in the handler: 0'

alike own_write
shown program 'O_NONBLOCK 0'

alike waiters
shown program 'grows 0'

scene_scarce() { run program "$BIN/events/little_memory"; }
modes scarce
scene_little() { run program "$BIN/events/little_memory" nonblock; }
modes little
shown program 'taken 800 of 800, bad 0'

alike stolen_set
told stolen_set thread 'the thread that reads events ends .*EBADF'
finish
