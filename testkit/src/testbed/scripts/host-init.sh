#!/bin/bash
# Process 1 of the emulated host: does what an init would, starts libvirt, and answers commands.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /tmp
mkdir -p /dev/pts /dev/shm /dev/hugepages /run/libvirt /run/lock
ln -sf /proc/self/fd /dev/fd
mount -t devpts devpts /dev/pts
mount -t tmpfs shm /dev/shm
mount -t hugetlbfs hugetlbfs /dev/hugepages
# Processes may not stand in a group that hands controllers on; without cpuset libvirt binds nothing.
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mkdir /sys/fs/cgroup/init
echo $$ > /sys/fs/cgroup/init/cgroup.procs
echo '+cpuset +cpu +memory +io +pids' > /sys/fs/cgroup/cgroup.subtree_control
hostname emulated
ip link set lo up
ip link set eth0 up
ip addr add 10.0.2.15/24 dev eth0

# As a host with systemd does at each boot, in this order.
systemd-tmpfiles --create --remove --boot > /dev/null 2>&1
sysctl --system > /dev/null 2>&1

socat TCP-LISTEN:2222,fork,reuseaddr,nodelay EXEC:/sbin/host-answer &
virtlogd --daemon
libvirtd --daemon --listen
until virsh -c qemu:///system domcapabilities --virttype qemu > /dev/null 2>&1; do
    sleep 0.2
done
echo "HOST-READY $(cat /proc/uptime)"
while :; do sleep 1000; done
