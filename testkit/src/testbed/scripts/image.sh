#!/bin/bash
# Makes the disk of the emulated host out of the prepared root. $1: this script's folder; $2: the
# root; $3: the folder for the image. Runs in a mount namespace of its own.
set -euo pipefail
scripts=$1 image=$3
. "$scripts/own-root.sh"
own_root "$2" "$scripts/top"
share "$image"

# What it needs before it has a disk.
tree=$root/run/first-stage
mkdir -p "$tree/bin" "$tree/proc" "$tree/sys" "$tree/dev" "$tree/disk" "$tree/modules"
cp "$root/bin/busybox" "$tree/bin/"
cp "$scripts/host-first-stage.sh" "$tree/init"
cp "$root"/opt/kernel/modules/*.ko "$tree/modules/"
chmod 755 "$tree/init"
chroot "$root" sh -euc "cd /run/first-stage; find . | cpio -o -H newc --quiet > '$image/initrd'"
cp "$root/opt/kernel/vmlinuz" "$image/vmlinuz"
rm -r "$tree"

cp "$scripts/host-init.sh" "$root/sbin/host-init"
cp "$scripts/host-answer.sh" "$root/sbin/host-answer"
chmod 755 "$root/sbin/host-init" "$root/sbin/host-answer"
# Its libvirt asks a QEMU on another kernel: nothing that was kept here holds there.
rm -rf "$root/var/cache/libvirt/qemu/capabilities"
rm -rf "$root/var/lib/apt" "$root/var/lib/dpkg/info" "$root/usr/share/qemu/edk2"* "$root/usr/share/info"

# A journal would only slow down a disk that is thrown away. The other end of the bind must not
# become a part of the image it is for.
chroot "$root" sh -euc "
    mkdir /mnt/root
    mount --bind / /mnt/root
    mke2fs -q -t ext4 -O ^has_journal -L emulated -d /mnt/root '$image/disk.img' 1G
    cd '$image'
    qemu-img create -q -f qcow2 -b disk.img -F raw frozen.qcow2"
