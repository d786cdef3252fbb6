# shellcheck shell=bash
# Takes a guest into its root. Sourced by the script that the guest boots, which begins anew in there.

# Every program of the guest gets this librdmacm in place of the system's.
use_library() { # FILE
    local system
    for system in /usr/lib/*-linux-gnu/librdmacm.so.1; do
        mount --bind "$1" "$(realpath "$system")" || return 1
    done
}

# The root stays as it is: what is written in there is lost with the guest.
enter_root() { # DIR SCRIPT
    local top=/run/lab-root new=/run/lab-root/new dir
    modprobe overlay
    mkdir -p "$top" && mount -t tmpfs lab "$top" && mkdir "$top"/{upper,work,new} &&
        mount -t overlay lab -o "lowerdir=$1,upperdir=$top/upper,workdir=$top/work" "$new" || exit 3
    for dir in /proc /sys /dev /tmp /lib/modules "${LAB_SHARED[@]}"; do
        mkdir -p "$new$dir" && mount --rbind "$dir" "$new$dir" || exit 3
    done
    mount -t tmpfs lab "$new/run" || exit 3
    : >"$new/.lab-root"
    exec chroot "$new" bash "$2"
}

if [ -e "$LAB_ROOT_DIR/librdmacm.so.1" ]; then
    use_library "$LAB_ROOT_DIR/librdmacm.so.1" || exit 3
elif [ ! -e /.lab-root ]; then
    enter_root "$LAB_ROOT_DIR" "$0"
fi
