# shellcheck shell=bash
# Like pair.sh, with the preloaded run once in every mode of event batching. Sourced after it.
# `modes NAME [KEY=VALUE…]` plays the scene bare and in each of $MODES, two at a time, and compares each with bare.
# The outputs of a mode are those of the scene NAME-MODE, so that line, shown, no_lines and at_most work for it.

MODES=${MODES:-auto thread off} # inline is what auto does here (core/src/config/typed.rs)
ALL_MODES="auto inline thread off policy" # policy: auto under a tenant policy that lets everybody in

settings_of() { # MODE
    case $1 in
        policy)
            printf 'version = 1\ndefault = "allow"\n' >"$LAB_TMP/allow.toml"
            echo "CMSHIM_EVENTS_MODE=auto CMSHIM_TENANT_POLICY=$LAB_TMP/allow.toml"
            ;;
        *) echo "CMSHIM_EVENTS_MODE=$1" ;;
    esac
}

play_bare() { # NAME
    (scene=$1 play bare)
}

play_mode() { # NAME MODE number [KEY=VALUE…]
    local name=$1 mode=$2
    (
        port=$((port + $3))
        shift 3
        eval "scene_$name-$mode() { scene_$name; }"
        # shellcheck disable=SC2207 # no spaces in them
        scene=$name-$mode settings=($(settings_of "$mode") "$@")
        play shim
    )
}

modes() { # NAME [KEY=VALUE of the shim…]
    local name=$1 mode number=0 running=1 bare
    shift
    scene=$name
    play_bare "$name" &
    for mode in $MODES; do
        [ "$running" -lt 2 ] || { wait -n; running=$((running - 1)); }
        number=$((number + 1))
        play_mode "$name" "$mode" "$number" "$@" &
        running=$((running + 1))
    done
    wait
    for bare in "$LAB_TMP/$name".bare.*.out; do
        for mode in $MODES; do
            scene=$name-$mode
            same_output "$bare" "$LAB_TMP/$name-$mode.shim.${bare##*.bare.}" || fault "output differs from bare: ${bare##*/}"
        done
    done
    scene=$name
    port=$((port + number + 1))
    echo "played $name"
}
