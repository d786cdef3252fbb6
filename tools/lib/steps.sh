# shellcheck shell=bash
# Steps of a set-up: what they say, their log, and apt. Sourced by what names LOG and ME: tools/setup, tools/root,
# tools/packages, tools/packages-test, tools/aarch64/run.

problems=0

say() { printf '%s: %s\n' "$ME" "$*"; }
problem() { printf '%s: %s\n' "$ME" "$*" >&2; problems=1; }

# Run a step; its output goes to the log, or to the screen with V=1. On failure the end of it is shown.
logged() {
    local status
    if [ "${V:-}" = 1 ]; then
        "$@" 2>&1 | tee -a "$LOG"
        status=${PIPESTATUS[0]}
    else
        "$@" >>"$LOG" 2>&1 &
        show_waiting $!
        wait $!
        status=$?
    fi
    if [ "$status" != 0 ]; then
        say "this failed (whole output in $LOG): $*" >&2
        tail -n 15 "$LOG" | sed 's/^/    | /' >&2
    fi
    return "$status"
}

# A sign of life while something takes long.
show_waiting() { # PID
    local begin=$SECONDS
    while kill -0 "$1" 2>/dev/null; do
        sleep 0.1
        [ $((SECONDS - begin)) -gt 0 ] && [ $(((SECONDS - begin) % 15)) = 0 ] || continue
        say "... $((SECONDS - begin)) s"
        sleep 1
    done
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        echo "neither root nor sudo"
        return 1
    fi
}

have_apt() { command -v apt-get >/dev/null && command -v dpkg-query >/dev/null; }

# Another program may be installing packages: its lock is waited for.
APT_WAITS=(-o DPkg::Lock::Timeout=300)

# The list of packages may be fresh enough: install first, update only if that fails.
apt_install() {
    local try=(env DEBIAN_FRONTEND=noninteractive apt-get "${APT_WAITS[@]}" install -y --no-install-recommends "$@")
    as_root "${try[@]}" >>"$LOG" 2>&1 &
    show_waiting $!
    wait $! && return 0
    apt_update || say "apt-get update failed; trying to install with the lists that are here"
    logged as_root "${try[@]}"
}

# At most once: what apt knows does not change while this runs.
apt_updated=no
apt_update() {
    [ "$apt_updated" = no ] || return 0
    apt_updated=yes
    say "apt-get update"
    logged as_root apt-get "${APT_WAITS[@]}" update
}

# Packages as files in the directory; with the lists of this machine, or those of APT_CONFIG.
apt_download() { # DIR PACKAGE...
    local dir=$1
    shift
    mkdir -p "$dir"
    (cd "$dir" && logged apt-get -o APT::Sandbox::User=root download "$@")
}

apt_knows() { # PACKAGE
    apt-cache policy "$1" 2>/dev/null | grep -qE '^ *Candidate: [^(]'
}

# Installs the package if the command is missing.
need() { # COMMAND PACKAGE
    command -v "$1" >/dev/null && return
    have_apt || { problem "$1 is missing (Debian's package $2)"; return 1; }
    say "apt-get install $2"
    apt_install "$2"
}

# The mirror of Debian that apt has here.
debian_mirror() {
    # shellcheck disable=SC2016 # apt's own variables
    apt-get indextargets --format '$(REPO_URI)' 'Identifier: Packages' 'Origin: Debian' 'Label: Debian' | head -n 1
}
