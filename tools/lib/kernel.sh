# shellcheck shell=bash
# A kernel for guests, unpacked from packages: none is installed on this machine. Sourced after steps.sh.

kernel_is_here() { compgen -G "$1/lib/modules/*/modules.dep" >/dev/null; } # DIR

# The packages that hold the newest kernel and its modules. Debian has one; Ubuntu has the modules apart.
kernel_packages() {
    local meta image version part
    for meta in linux-image-amd64 linux-image-generic; do
        image=$(apt-cache depends "$meta" 2>/dev/null | sed -nE 's/^ *Depends: *(linux-image-[0-9][^ ]*)$/\1/p' | head -n 1)
        [ -n "$image" ] && break
    done
    [ -n "$image" ] || return 1
    version=${image#linux-image-}
    version=${version%-unsigned}
    printf '%s\n' "$image"
    for part in "linux-modules-$version" "linux-modules-extra-$version"; do
        if apt_knows "$part"; then printf '%s\n' "$part"; fi
    done
}

# What a guest without such hardware never loads is left out.
unpack_kernel() { # DIR PACKAGE...
    local dir=$1 work=$1.new version package
    shift
    rm -rf "$work"
    apt_download "$work/deb" "$@" || { problem "$* could not be downloaded (try: apt-get update)"; return 1; }
    for package in "$work"/deb/*.deb; do logged dpkg -x "$package" "$work" || return 1; done
    # A root whose /lib is /usr/lib has its modules there.
    [ -d "$work/lib/modules" ] || { mkdir -p "$work/lib" && mv "$work/usr/lib/modules" "$work/lib/modules"; } || return 1
    version=$(basename "$work"/lib/modules/*)
    (
        cd "$work/lib/modules/$version/kernel" &&
            rm -rf sound drivers/{gpu,media,staging,iio,isdn,bluetooth,usb,mtd,hwmon,rtc,input} drivers/net/{wireless,can,usb} net/{wireless,mac80211,bluetooth}
    )
    rm -rf "$work/deb" "$work/usr"
    # What loads the first modules of a guest may not know this form, and an emulated guest takes long for it.
    find "$work/lib/modules" -name '*.ko.xz' -exec xz -d {} + -o -name '*.ko.zst' -exec zstd -qd --rm {} +
    logged depmod -b "$work" "$version" || return 1
    rm -rf "$dir"
    mv "$work" "$dir"
}
