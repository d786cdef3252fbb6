#!/bin/bash
# The second of two guests when a shell runs in the first: the topology, and nothing more.
# shellcheck source=setup.sh
. "$LAB_DIR/guest/setup.sh"
sleep infinity
