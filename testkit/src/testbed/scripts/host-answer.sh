#!/bin/bash
# One connection of the emulated host: one line of request, its bytes, and one answer.
#   run SECONDS BYTES       a script for bash, killed after so many seconds (exit code 124)
#   push MODE BYTES PATH    a file, whole or not at all
# The answer is a line "EXIT-CODE OUTPUT-BYTES ERROR-BYTES" with what was printed after it.
cd / || exit 1
export HOME=/root
dir=$(mktemp -d /tmp/answer.XXXXXX)
trap 'rm -rf "$dir"' EXIT
read -r verb first bytes path
head -c "$bytes" > "$dir/in"
code=1
if [ "$(stat -c %s "$dir/in")" != "$bytes" ]; then
    echo "fewer than $bytes bytes came" > "$dir/err"
elif [ "$verb" = run ]; then
    timeout --kill-after=5 "$first" bash "$dir/in" < /dev/null > "$dir/out" 2> "$dir/err"
    code=$?
elif [ "$verb" = push ]; then
    # The name changes last: a program that runs is not overwritten, and nobody sees half a file.
    { cp "$dir/in" "$path.part" && chmod "$first" "$path.part" && mv -f "$path.part" "$path"; } 2> "$dir/err"
    code=$?
else
    echo "no such request: $verb" > "$dir/err"
fi
touch "$dir/out" "$dir/err"
# The sizes are those of this moment: a process left behind may still be writing.
set -- "$(stat -c %s "$dir/out")" "$(stat -c %s "$dir/err")"
echo "$code $1 $2"
head -c "$1" "$dir/out"
head -c "$2" "$dir/err"
