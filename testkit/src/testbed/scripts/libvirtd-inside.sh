#!/bin/bash
# The first process of a private libvirtd's namespaces. $1 is its folder, $2 the root of the test bed,
# then "PLACE:CONTROLLERS" for each hierarchy of control groups. Obeys words on standard input, each
# answered by a line; at its end everything ends.
set -e
folder=$1 lower=$2
# Alone in its groups, so that they may hand controllers on; 0 is whoever writes it.
if [ -f "$folder/groups" ]; then
    while read -r group; do
        [ -z "$group" ] || echo 0 > "$group/cgroup.procs"
    done < "$folder/groups"
    rm "$folder/groups"
    exec unshare --cgroup bash "$0" "$@"
fi
shift 2
. "$folder/own-root.sh"
ip link set lo up
own_root "$lower" "$folder/top"
mount -t sysfs sysfs "$root/sys"
mount -t tmpfs -o mode=755 run "$root/run"
mkdir "$root/run/libvirt"
mount --bind "$folder/run" "$root/run/libvirt"
# Files for guests have one name inside and outside.
share "$folder/shared"
while read -r path; do share "$path"; done < "$folder/shares"
# Two daemons on one machine are two hosts to each other: by UUID, by name, by where guests go to.
read -r uuid < /proc/sys/kernel/random/uuid
echo "host_uuid = \"$uuid\"" >> "$root/etc/libvirt/libvirtd.conf"
# An address for documentation, since libvirt takes none that every machine has.
ip address replace 192.0.2.1/32 dev lo
echo 'migration_host = "192.0.2.1"' >> "$root/etc/libvirt/qemu.conf"
hostname "${folder##*/}"
# Small, so that a test can fill it.
mount -t tmpfs -o size=8m,mode=700 definitions "$root/etc/libvirt/qemu"

if [ $# = 0 ]; then
    # A container that may not make groups: libvirt then binds threads alone.
    echo 'cgroup_controllers = []' >> "$root/etc/libvirt/qemu.conf"
elif [ "$*" = : ]; then
    mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
    mkdir "$root/sys/fs/cgroup/init"
    echo 0 > "$root/sys/fs/cgroup/init/cgroup.procs"
    # Only those that the machine hands down; cpuset is not always among them.
    for controller in $(cat "$root/sys/fs/cgroup/cgroup.controllers"); do
        echo "+$controller" > "$root/sys/fs/cgroup/cgroup.subtree_control" || true
    done
else
    mount -t tmpfs groups "$root/sys/fs/cgroup"
    for each; do
        place=${each%%:*} controllers=${each#*:}
        mkdir "$root/sys/fs/cgroup$place"
        case $controllers in
            '') mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup$place" ;;
            name=*) mount -t cgroup -o "none,$controllers" cgroup "$root/sys/fs/cgroup$place" ;;
            *) mount -t cgroup -o "$controllers" cgroup "$root/sys/fs/cgroup$place" ;;
        esac
    done
fi
set +e

start_daemon() {
    chroot "$root" libvirtd >> "$folder/libvirtd.log" 2>&1 < /dev/null &
    daemon=$!
    for _ in $(seq 200); do
        # Left over from a killed one, the socket is there and nobody listens.
        chroot "$root" virsh -c qemu:///system list < /dev/null > /dev/null 2>&1 && return 0
        kill -0 $daemon 2> /dev/null || return 1
        sleep 0.05
    done
    return 1
}

chroot "$root" virtlogd --daemon < /dev/null
while read -r word; do
    case $word in
        start) start_daemon ;;
        # Killed, it has no time to put anything in order. Guests live on.
        kill) kill -9 $daemon && wait $daemon 2> /dev/null; [ $? = 137 ] ;;
        fill) dd if=/dev/zero of="$root/etc/libvirt/qemu/ballast" bs=4k 2> /dev/null; [ -s "$root/etc/libvirt/qemu/ballast" ] ;;
        drain) rm "$root/etc/libvirt/qemu/ballast" ;;
        *) false ;;
    esac && echo done || echo failed
done
