#!/bin/busybox sh
# Process 1 of the tiny guest. Everything it says goes to the serial console, a fact a line.
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
for module in virtio_ring virtio virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci virtio_console button evdev; do
    insmod "/modules/$module.ko"
done
ln -s /proc/self/fd /dev/fd

# What it was given.
echo "GUEST-NODES $(cat /sys/devices/system/node/online)"
for node in /sys/devices/system/node/node[0-9]*; do
    echo "GUEST-NODE ${node##*/node} cpus=$(cat "$node/cpulist") distances=$(tr ' ' ',' < "$node/distance") memory_kb=$(awk '/MemTotal/ { print $4 }' "$node/meminfo")"
done
for cpu in /sys/devices/system/cpu/cpu[0-9]*; do
    echo "GUEST-CPU ${cpu##*/cpu} package=$(cat "$cpu/topology/physical_package_id") core=$(cat "$cpu/topology/core_id") threads=$(cat "$cpu/topology/thread_siblings_list") l3=$(cat "$cpu/cache/index3/shared_cpu_list" 2> /dev/null)"
done

# The power button: the first event of its device is the press.
for name in /sys/class/input/event*/device/name; do
    if [ "$(cat "$name" 2> /dev/null)" = 'Power Button' ]; then
        device=${name%/device/name}
        (head -c 1 "/dev/input/${device##*/}" > /dev/null && echo GUEST-BUTTON && poweroff -f) &
    fi
done

# The guest agent, where the domain has its channel.
for port in /sys/class/virtio-ports/*; do
    if [ "$(cat "$port/name" 2> /dev/null)" = org.qemu.guest_agent.0 ]; then
        /sbin/qemu-ga --daemonize --method virtio-serial --path "/dev/${port##*/}" --statedir /run --pidfile /run/agent.pid
    fi
done
echo "GUEST-READY $(cat /proc/uptime)"
while :; do sleep 1000; done
