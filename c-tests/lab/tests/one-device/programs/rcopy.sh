#!/bin/bash
# rcopy: a file over rsockets.
# limit: 150
# lane: programs
# shellcheck source=_twice.sh
. "$(dirname "$0")/_twice.sh"
# it maps the file shared, which LAB_TMP cannot do
dir=/dev/shm
port=7205
server=(rcopy -p "$port")
server_end=kill
head -c 100000 /dev/urandom >"$dir/file"
client=(rcopy "$dir/file" "$LAB_ADDR:$dir/copy" -p "$port")
tidy() { sed -E "s/^[0-9]+ bytes in .*/N bytes in TIME/" | scrub; }
twice
cmp "$dir/file" "$dir/copy" || fail "the copy differs"
rm -f "$dir/file" "$dir/copy"
