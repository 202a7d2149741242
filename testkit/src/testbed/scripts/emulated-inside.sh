#!/bin/bash
# The first process of an emulated host's namespaces. $1 is its folder, $2 the root of the test bed,
# $3 the folder of its image, $4 the port for commands, $5 the one for libvirt. Obeys words on
# standard input, each answered by a line; at its end everything ends.
set -e
exec 9>&-
folder=$1 lower=$2 image=$3 commands=$4 libvirt=$5
. "$folder/own-root.sh"
own_root "$lower" "$folder/top"
share "$folder"
share "$image"
set +e

# Four nodes of unequal memory on two sockets: near, far and very far.
machine=(
    -machine q35 -accel tcg,thread=multi -cpu max,pmu=off -m 4096
    -smp 8,sockets=2,dies=2,cores=2,threads=1
    -object memory-backend-ram,id=m0,size=640M -object memory-backend-ram,id=m1,size=896M
    -object memory-backend-ram,id=m2,size=1152M -object memory-backend-ram,id=m3,size=1408M
    -numa node,nodeid=0,cpus=0-1,memdev=m0 -numa node,nodeid=1,cpus=2-3,memdev=m1
    -numa node,nodeid=2,cpus=4-5,memdev=m2 -numa node,nodeid=3,cpus=6-7,memdev=m3
    -numa dist,src=0,dst=1,val=12 -numa dist,src=0,dst=2,val=32 -numa dist,src=0,dst=3,val=32
    -numa dist,src=1,dst=2,val=32 -numa dist,src=1,dst=3,val=32 -numa dist,src=2,dst=3,val=12
    -nodefaults -display none -device virtio-rng-pci
)
boot_words='console=ttyS0 quiet loglevel=4 mitigations=off nokaslr tsc=reliable no_timer_check cryptomgr.notests random.trust_cpu=on hugepagesz=2M hugepages=0:60,1:110,2:110,3:110'

# start_qemu DISK ARGUMENT...
start_qemu() {
    local disk=$1
    shift
    rm -f "$folder/monitor"
    chroot "$root" qemu-system-x86_64 "${machine[@]}" \
        -kernel "$image/vmlinuz" -initrd "$image/initrd" -append "$boot_words" \
        -drive "file=$disk,if=virtio,format=qcow2,cache=unsafe" \
        -netdev "user,id=n0,restrict=on,hostfwd=tcp:127.0.0.1:$commands-:2222,hostfwd=tcp:127.0.0.1:$libvirt-:16509" \
        -device virtio-net-pci,netdev=n0,romfile= \
        -serial "file:$folder/serial.log" -monitor "unix:$folder/monitor,server=on,wait=off" \
        "$@" >> "$folder/qemu.log" 2>&1 < /dev/null &
    qemu=$!
    for _ in $(seq 100); do
        [ -S "$folder/monitor" ] && return 0
        kill -0 $qemu 2> /dev/null || return 1
        sleep 0.05
    done
    return 1
}

tell_qemu() {
    printf '%s\n' "$1" | chroot "$root" socat -t "$2" - "UNIX-CONNECT:$folder/monitor" 2>> "$folder/qemu.log"
}

# until_qemu_says QUESTION ANSWER
until_qemu_says() {
    for _ in $(seq 600); do
        kill -0 $qemu 2> /dev/null || return 1
        tell_qemu "$1" 5 | grep -q "$2" && return 0
        sleep 0.1
    done
    return 1
}

# A boot takes twenty seconds on two idle cores.
until_host_is_ready() {
    for _ in $(seq 1500); do
        grep -q HOST-READY "$folder/serial.log" && return 0
        grep -q 'Kernel panic' "$folder/serial.log" && return 1
        kill -0 $qemu 2> /dev/null || return 1
        sleep 0.2
    done
    return 1
}

# Boots from the image and keeps the state of all memory beside it.
freeze() {
    start_qemu "$image/frozen.qcow2" && until_host_is_ready || return 1
    tell_qemu 'migrate_set_parameter max-bandwidth 100G' 5 > /dev/null
    tell_qemu "migrate -d \"exec:cat > '$image/state'\"" 5 > /dev/null
    until_qemu_says 'info migrate' 'Migration status: completed' || return 1
    tell_qemu quit 5 > /dev/null
    wait $qemu
}

# Goes on from the kept state, on a disk of its own over the image.
restore() {
    chroot "$root" qemu-img create -q -f qcow2 -b "$image/frozen.qcow2" -F qcow2 "$folder/disk.qcow2" &&
        start_qemu "$folder/disk.qcow2" -incoming "exec:cat '$image/state'" &&
        until_qemu_says 'info status' 'VM status: running'
}

while read -r word; do
    case $word in
        freeze) freeze ;;
        restore) restore ;;
        *) false ;;
    esac && echo done || echo failed
done
