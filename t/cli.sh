#!/usr/bin/env bash
# The command line as a whole: help, typos, exit statuses, where output goes.
. "$(dirname "$0")/lib.sh"

runs 0 "--help" "$HONE" --help
is "fits a screen" "$(awk 'length > 80 {w++} END {print (NR <= 40) && !w}' "$T/out")" 1
err_empty "help is a result: stdout"
runs 0 "--version" "$HONE" --version
is "prints one line" "$(grep -cE '^hone [0-9]+\.[0-9]+' "$T/out")" 1
runs 2 "no command" "$HONE"
runs 2 "an unknown command" "$HONE" doctr
err_has "suggests the nearest" "did you mean 'hone doctor'"
out_lacks "prints nothing on stdout" "doctor"
runs 2 "an unknown option" "$HONE" doctor --jsn
err_has "suggests the nearest option" "did you mean --json"
runs 2 "an operand too many" "$HONE" doctor now

for c in $("$HONE" --help | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p'); do
    runs 0 "$c --help" "$HONE" "$c" --help
    out_has "$c --help has an example" "example:"
    runs 0 "help $c" "$HONE" help "$c"
done

runs 3 "a full disk is not success" sh -c '"$1" --help >/dev/full' sh "$HONE"
done_testing
