#!/bin/bash
# A libvirtd of its own, from outside: $1 is its folder, $2 the root of the test bed. Standard input is
# the leash: when it ends, however that came about, everything here ends and the folder goes.
folder=$1 root=$2
name=${folder##*/}
# Whoever interrupts a test interrupts its group; tidying up is not interrupted.
trap '' INT TERM HUP

# A control group below the one we are in, in each hierarchy this machine mounts. Its namespace then
# shows it to libvirtd as the top, so that two daemons do not meet in /machine.
groups=() homes=() mounts=()
while IFS=: read -r _ controllers path; do
    if [ -z "$controllers" ]; then
        mount=/sys/fs/cgroup
        [ -d /sys/fs/cgroup/unified ] && mount=/sys/fs/cgroup/unified
    else
        mount=/sys/fs/cgroup/${controllers#name=}
    fi
    home=$mount${path%/}
    [ -f "$home/cgroup.procs" ] || continue
    mkdir "$home/$name" 2> /dev/null || continue
    if [ -f "$home/cpuset.cpus" ] && [ -n "$controllers" ]; then
        cat "$home/cpuset.cpus" > "$home/$name/cpuset.cpus"
        cat "$home/cpuset.mems" > "$home/$name/cpuset.mems"
    fi
    groups+=("$home/$name") homes+=("$home") mounts+=("${mount#/sys/fs/cgroup}:$controllers")
done < /proc/self/cgroup
for group in "${groups[@]}"; do
    echo $$ > "$group/cgroup.procs"
done

# The first process of a PID namespace takes all others with it; the kernel then drops the mounts.
unshare --mount --pid --net --uts --cgroup --fork --kill-child \
    bash "$folder/inside.sh" "$folder" "$root" "${mounts[@]}"

for home in "${homes[@]}"; do
    echo $$ > "$home/cgroup.procs"
done
for group in "${groups[@]}"; do
    # A group of a process that is just ending is busy for a moment.
    for _ in $(seq 50); do
        find "$group" -depth -type d -exec rmdir {} + 2> /dev/null
        [ -d "$group" ] || break
        sleep 0.1
    done
done
rm -rf --one-file-system -- "$folder"
