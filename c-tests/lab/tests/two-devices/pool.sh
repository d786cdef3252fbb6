#!/bin/bash
# The same kind of queue pair on two devices.
# shellcheck source=../../../include/pair.sh
. "$(dirname "$0")/../../../include/pair.sh"
export CMSHIM_POOL_IDLE_S=600 # the default is soon over on a busy machine
scene_devices() { run program "$BIN/pool/two_devices"; }
pair devices CMSHIM_LOG_LEVEL=debug
shown program 'exit status 0'
says program 'pool: hits [1-9]'
finish
