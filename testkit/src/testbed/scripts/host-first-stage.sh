#!/bin/busybox sh
# Process 1 of the emulated host until its disk is mounted.
busybox=/bin/busybox
$busybox mount -t proc proc /proc
$busybox mount -t sysfs sysfs /sys
$busybox mount -t devtmpfs dev /dev
for module in virtio_ring virtio virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci virtio_blk failover net_failover virtio_net virtio-rng; do
    $busybox insmod "/modules/$module.ko"
done
$busybox mount -t ext4 /dev/vda /disk
for dir in proc sys dev; do
    $busybox mount --move "/$dir" "/disk/$dir"
done
exec $busybox switch_root /disk /sbin/host-init
