# shellcheck shell=bash
# Where things are on the host. Sourced by the host's scripts.

LAB_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
ROOT=$(cd "$LAB_DIR/../.." && pwd)
STATE=${LAB_STATE:-$ROOT/.lab}
VENV=$ROOT/.venv
TARGET=${CARGO_TARGET_DIR:-$ROOT/target}
case $TARGET in /*) ;; *) TARGET=$ROOT/$TARGET ;; esac

# What the tests get; each can be replaced, for example to try another build of the library.
CMSHIM_LIB=${LAB_CMSHIM_LIB:-$TARGET/release/libcmshim.so}
CMSHIM=${LAB_CMSHIM:-$TARGET/release/cmshim}
BIN=${LAB_BIN:-$TARGET/c-tests}

# Tests run on a copy: guests see the host's files as they are now, and a build may replace them meanwhile.
keep_a_copy() {
    local copy=$STATE/under-test
    rm -rf "$copy" && mkdir -p "$copy" &&
        cp "$CMSHIM_LIB" "$copy/libcmshim.so" && cp "$CMSHIM" "$copy/cmshim" && cp -r "$BIN" "$copy/bin" ||
        die "what is to be tested cannot be copied to $copy"
    CMSHIM_LIB=$copy/libcmshim.so CMSHIM=$copy/cmshim BIN=$copy/bin
}

TOPOLOGIES="no-device one-device two-devices two-guests"
MORE_TOPOLOGIES="siw"

say() { printf '%s\n' "$*"; }
die() { printf 'lab: %s\n' "$*" >&2; exit 2; }

# shellcheck source=root.sh
. "$LAB_DIR/host/root.sh"

# The kernel that guests boot: LAB_KERNEL (a vmlinuz file), else the one that tools/setup or tools/root unpacked,
# else the newest of the host that has Soft-RoCE.
find_kernel() {
    local image version
    if [ -n "${LAB_KERNEL:-}" ]; then
        printf '%s\n' "$LAB_KERNEL"
        return
    fi
    for image in $(printf '%s\n' "$KERNELS"/boot/vmlinuz-* /boot/vmlinuz-* | sort -t- -k2 -rV); do
        version=${image##*/vmlinuz-}
        [ -r "$image" ] || continue
        if [ -n "$(find "${image%/boot/*}/lib/modules/$version/kernel" -name 'rdma_rxe.ko*' -print -quit 2>/dev/null)" ]; then
            printf '%s\n' "$image"
            return
        fi
    done
    return 1
}
