#!/bin/bash
# A libvirtd of its own, from outside: $1 is its folder, $2 the root of the test bed. Standard input is
# the leash: when it ends, however that came about, everything here ends and the folder goes.
folder=$1 root=$2
name=${folder##*/}
# Whoever interrupts a test interrupts its group; tidying up is not interrupted.
trap '' INT TERM HUP

# A control group of its own in each hierarchy this machine mounts. Its namespace then shows it to
# libvirtd as the top, so that two daemons do not meet in /machine. Version 1: below the one we are in,
# whose limits then hold here too. Version 2 alone: at the top, since below a group with processes in
# it, as ours is, there are no controllers.
groups=() mounts=()
while IFS=: read -r _ controllers path; do
    if [ -n "$controllers" ]; then
        mount=/sys/fs/cgroup/${controllers#name=}
    elif [ -d /sys/fs/cgroup/unified ]; then
        mount=/sys/fs/cgroup/unified
    else
        mount=/sys/fs/cgroup
    fi
    home=$mount${path%/} parent=$mount${path%/}
    [ -n "$controllers" ] || parent=$mount
    [ -f "$home/cgroup.procs" ] || continue
    mkdir "$parent/$name" 2> /dev/null || continue
    if [ -n "$controllers" ] && [ -f "$home/cpuset.cpus" ]; then
        cat "$home/cpuset.cpus" > "$parent/$name/cpuset.cpus"
        cat "$home/cpuset.mems" > "$parent/$name/cpuset.mems"
    fi
    groups+=("$parent/$name") mounts+=("${mount#/sys/fs/cgroup}:$controllers")
done < /proc/self/cgroup
printf '%s\n' "${groups[@]}" > "$folder/groups"

# The network is its own, or that of another one whose guests it is to exchange.
net=(unshare --net)
[ -s "$folder/net-of" ] && net=(nsenter "--net=/proc/$(cat "$folder/net-of")/ns/net")
# The first process of a PID namespace takes all others with it; the kernel then drops the mounts.
"${net[@]}" unshare --mount --pid --uts --fork --kill-child \
    bash "$folder/inside.sh" "$folder" "$root" "${mounts[@]}"

for group in "${groups[@]}"; do
    # A group of a process that is just ending is busy for a moment.
    for _ in $(seq 50); do
        find "$group" -depth -type d -exec rmdir {} + 2> /dev/null
        [ -d "$group" ] || break
        sleep 0.1
    done
done
rm -rf --one-file-system -- "$folder"
