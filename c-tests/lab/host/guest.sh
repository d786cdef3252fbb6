# shellcheck shell=bash
# Boots guests. Sourced after paths.sh.

# Boot a guest and wait for it to end.
# usage: vng_run DIR [vng options...] -- COMMAND...   (DIR is written through to the host)
vng_run() {
    # Emulated, a program's start costs twice as much where each has its libraries at other addresses (norandmaps).
    local dir=$1 kernel accel=(--disable-kvm --append norandmaps) options=()
    # The kernel mistrusts an emulated processor's counter; each look at a clock is then a system call that asks an emulated
    # device. For measurements it is told not to (a guest that gets hardly any time may not come up with that).
    [ "${LAB_CLOCK:-}" != tsc ] || accel+=(--append tsc=reliable)
    shift
    while [ "$#" -gt 0 ] && [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    kernel=$(find_kernel) || die "no kernel with rdma_rxe found: run tools/setup"
    [ "$(use_kvm)" = yes ] && accel=()
    # 9p, because virtme-ng takes qemu 7's own virtiofsd for the newer one and waits 6 s for it in vain
    env -u LD_PRELOAD PATH="$VENV/bin:$PATH" "$VENV/bin/vng" "${accel[@]}" --force-9p -r "$kernel" --user root \
        --rwdir "$dir" "${options[@]}" "$@"
}

# Does a guest really boot with KVM here? Asked once with a real boot, since /dev/kvm alone proves nothing:
# on some nested machines qemu asserts or the guest hangs. LAB_KVM=0 or 1 overrides.
use_kvm() {
    local key verdict
    case ${LAB_KVM:-} in
        0) echo no; return ;;
        1) echo yes; return ;;
    esac
    [ -w /dev/kvm ] || { echo no; return; }
    key="$(uname -r) $(qemu-system-x86_64 --version 2>/dev/null | head -n 1)"
    if verdict=$(grep -F "$key: " "$STATE/kvm" 2>/dev/null); then
        echo "${verdict##*: }"
        return
    fi
    mkdir -p "$STATE"
    echo "lab: /dev/kvm is there; trying a boot with it (once, up to 20 s)" >&2
    if probe_kvm; then verdict=yes; else verdict=no; fi
    echo "$key: $verdict" >>"$STATE/kvm"
    if [ "$verdict" = yes ]; then
        echo "lab: guests use KVM" >&2
    else
        echo "lab: a guest does not boot with KVM here: guests use software emulation (slower)" >&2
    fi
    echo "$verdict"
}

probe_kvm() {
    local dir
    dir=$(mktemp -d "$STATE/kvm-probe.XXXXXX")
    LAB_KVM=1 run_limited 20 vng_run "$dir" --cpus 1 --memory 512M -- "echo up >'$dir/up'" >/dev/null 2>&1
    local ok=1
    [ -e "$dir/up" ] && ok=0
    rm -rf "$dir"
    return $ok
}

# Run a function or command in its own process group and end the group after the limit.
# usage: run_limited SECONDS COMMAND...
run_limited() {
    local limit=$1 pid
    shift
    set -m
    "$@" </dev/null &
    pid=$!
    set +m
    local waited=0
    while kill -0 "$pid" 2>/dev/null; do
        [ "$waited" -ge $((limit * 5)) ] && { end_group "$pid"; break; }
        sleep 0.2
        waited=$((waited + 1))
    done
    wait "$pid" 2>/dev/null
}

end_group() {
    kill -TERM -- "-$1" 2>/dev/null
    sleep 0.5
    kill -KILL -- "-$1" 2>/dev/null
    return 0
}

# The variables that a guest's scripts need, as shell text.
guest_env() { # TOPOLOGY DIR SIDE
    printf 'export LAB_TOPOLOGY=%q LAB_DIR=%q LAB_OUT=%q LAB_SIDE=%q\n' "$1" "$LAB_DIR" "$2" "$3"
    printf 'export LAB_LIB=%q CMSHIM_LIB=%q CMSHIM=%q BIN=%q\n' "$LAB_DIR/guest/lib.sh" "$CMSHIM_LIB" "$CMSHIM" "$BIN"
    printf 'export PROMETHEUS=%q SIW=%q\n' "$STATE/prometheus/usr/bin" "$STATE/siw"
    printf 'export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8\n'
    local name
    for name in LAB_PATIENCE RANDOM_FIRST RANDOM_SEEDS SOAK_CONNECTIONS SOAK_SEED DEMO_PORT BENCH_ROUNDS BENCH_CYCLES BENCH_STARTS BENCH_CONNECTS; do
        [ -n "${!name:-}" ] && printf 'export %s=%q\n' "$name" "${!name}"
    done
    root_env "$2"
}

# qemu's options for one end of the cable between two guests; nothing for one guest.
wire_options() { # SIDE WIRE_DIR
    local other number
    case $1 in
        a) other=b number=1 ;;
        b) other=a number=2 ;;
        *) return 0 ;;
    esac
    printf -- '-netdev dgram,id=n0,local.type=unix,local.path=%s,remote.type=unix,remote.path=%s -device virtio-net-pci,netdev=n0,mac=52:54:00:00:00:0%s' \
        "$2/$1" "$2/$other" "$number"
}

# Boot a guest in the background with a script of guest/; GUEST_PID is the leader of its process group.
# usage: start_guest TOPOLOGY DIR SIDE WIRE_DIR SCRIPT     (SIDE is "" unless there are two guests)
start_guest() {
    local topology=$1 dir=$2 side=$3 wire=$4 script=$5 boot=$2/.boot$3 memory=2G cpus=2 qemu options=()
    { guest_env "$topology" "$dir" "$side"; printf 'exec bash %q\n' "$LAB_DIR/guest/$script"; } >"$boot"
    [ -n "$side" ] && memory=1G cpus=1
    qemu=$(wire_options "$side" "$wire")
    [ -n "$qemu" ] && options=("--qemu-opts=$qemu")
    set -m
    vng_run "$dir" --cpus "$cpus" --memory "$memory" -v --append loglevel=4 "${options[@]}" -- "bash '$boot'" \
        >"$dir/.console$side" 2>&1 </dev/null &
    GUEST_PID=$!
    set +m
}
