#!/bin/bash
# An emulated host, from outside: $1 is its folder, $2 the root of the test bed, $3 the folder of its
# image, $4 the file that one at a time may hold, then two free ports. Standard input is the leash.
trap '' INT TERM HUP
# One takes four gigabytes and two cores: the next waits.
exec 9> "$4"
flock 9
unshare --mount --pid --fork --kill-child bash "$1/inside.sh" "$1" "$2" "$3" "$5" "$6"
rm -rf --one-file-system -- "$1"
