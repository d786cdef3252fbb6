# shellcheck shell=bash
# The root that guests run on: this machine's own system, or one that tools/root made (LAB_ROOT). Sourced by paths.sh.

ROOTS="debian13 bsymbolic"
LAB_ROOT=${LAB_ROOT:-}
LOGS=$STATE/logs${LAB_ROOT:+-$LAB_ROOT}

# A root with a kernel of its own has it beside.
KERNELS=$STATE/kernel
[ -z "$LAB_ROOT" ] || [ ! -d "$STATE/roots/$LAB_ROOT.kernel" ] || KERNELS=$STATE/roots/$LAB_ROOT.kernel

check_root() {
    [ -n "$LAB_ROOT" ] || return 0
    case " $ROOTS " in *" $LAB_ROOT "*) ;; *) die "unknown root '$LAB_ROOT': one of $ROOTS" ;; esac
    [ -d "$STATE/roots/$LAB_ROOT" ] || die "the root $LAB_ROOT is not there: run tools/root $LAB_ROOT"
}

# What takes a guest into its root, as shell text: it comes last of what is set up there.
root_env() { # DIR that is written through to the host
    [ -n "$LAB_ROOT" ] || return 0
    printf 'export LAB_ROOT=%q LAB_ROOT_DIR=%q\n' "$LAB_ROOT" "$STATE/roots/$LAB_ROOT"
    printf 'LAB_SHARED=(%q %q %q)\n' "$ROOT" "$STATE" "$1"
    printf '. %q\n' "$LAB_DIR/guest/root.sh"
}
