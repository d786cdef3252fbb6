#!/bin/bash
# Queue pairs with the completion queues that librdmacm makes itself: the whole set comes from the pool.
# limit: 200
# lane: pool
# shellcheck source=../../../include/pair.sh
. "$(dirname "$0")/../../../include/pair.sh"
export CMSHIM_POOL_IDLE_S=600 # the default is soon over on a busy machine

# Level info: the program predicts the numbers of its next descriptors, and a line that the keeper writes (at level debug, of what
# was repeated) has one open for the moment.
for what in ids data closed few share chroot last; do
    eval "scene_bundles_$what() { run program '$BIN/pool/bundles' $what; }"
    level=info
    [ $what != chroot ] || level=off # its log file is out of sight
    pair bundles_$what CMSHIM_LOG_LEVEL=$level
    shown program 'exit status 0'
done
for scene in bundles_ids bundles_data bundles_share bundles_last; do says program 'pool: hits [1-9]'; done
# librdmacm gave up its protection domain with the last id: the pool holds nothing of it, nor on it.
for scene in bundles_{ids,data,closed,few}; do
    shown program 'the last id is gone, the kernel has 0 queue pairs, 0 completion queues, 0 protection domains'
done
scene=bundles_data; shown program 'no queues: crashed'
scene=bundles_closed; says program 'pool: hits [1-9].*evicted [1-9]'

# Descriptors that lie ready are given up where a channel needs them. (No lines: their file could not be opened.)
scene_bundles_room() { run program "$BIN/pool/bundles" room; }
pair bundles_room CMSHIM_LOG_LEVEL=debug CMSHIM_REASONS_ENABLE=false
shown program 'channels opened: [1-9].*, then EMFILE'
says program 'pool: hits [1-9].*rescued [1-9]'

# One step inside rdma_create_qp fails: librdmacm takes back what it was given.
OWN_PRELOAD=$BIN/behaviour/inject.so
for number in 3 8; do
    eval "scene_init_$number() { export INJECT=ibv_modify_qp:$number:12; run program '$BIN/pool/bundles' ids; }"
    pair init_$number CMSHIM_LOG_LEVEL=info
    shown program 'rdma_create_qp = -1, errno ENOMEM'
done
# The keeper's own completion queue fails.
scene_keeper() { export INJECT=ibv_create_cq:2:12 INJECT_THREAD=cmshim-keeper; run program "$BIN/pool/bundles" ids; }
pair keeper CMSHIM_LOG_LEVEL=info
says program 'pool: .*not made 1'
finish
