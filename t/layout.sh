#!/usr/bin/env bash
# The source tree itself: t/README.md names every test, and no file is committed twice.
. "$(dirname "$0")/lib.sh"
cd "$ROOT" || exit 1

# A row of t/README.md may name several files in backquotes, such as `a.sh`, `b.sh`.
named=$(grep -o '`[^`]*`' t/README.md | tr -d '`')
missing=
for f in t/*.sh t/unit/*.c t/cases/*; do
    name=${f##*/}
    case $name in lib.sh | plantask.json) continue ;; esac
    [ ! -d "$f" ] || name=$name/
    grep -qxF -- "$name" <<<"$named" || missing+=" $f"
done
is "t/README.md names every test and every folder of cases" "$missing" ""
gone=
for name in $(grep -o '^| `[a-z_0-9]*\.\(sh\|c\)`' t/README.md | tr -d '|` '); do
    [ -e "t/$name" ] || [ -e "t/unit/$name" ] || [ -e "t/cases/$name" ] || gone+=" $name"
done
is "every test that t/README.md names exists" "$gone" ""

if git rev-parse --git-dir >/dev/null 2>&1; then
    twice=$(git ls-files -s | awk '$1 != "120000" {
        hash = $2; sub(/^[^\t]*\t/, "")
        if (hash in first) print first[hash] " and " $0; else first[hash] = $0 }')
    is "no file is committed twice" "$twice" ""
else
    skip "no file is committed twice" "this is no git checkout"
fi
done_testing
