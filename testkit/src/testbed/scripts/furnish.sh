#!/bin/sh
# Turns a bare Debian root into the root of the test bed. Runs outside of it, while the package lists
# are still there. $1: the root; $2: the folder of this script and its siblings.
set -eu
root=$1
scripts=$2

# A kernel without being installed: its scripts would want a boot loader, and unpacked over / it
# would put a directory where the link /lib is.
kernel=$(chroot "$root" apt-cache depends --important linux-image-cloud-amd64 |
    sed -n 's/^ *Depends: \(linux-image-[0-9].*\)$/\1/p')
chroot "$root" sh -euc "
    cd /tmp
    apt-get -q -o APT::Sandbox::User=root download $kernel
    mkdir -p /opt/kernel
    dpkg -x linux-image-*.deb /opt/kernel
    rm linux-image-*.deb"
version=${kernel#linux-image-}
mv "$root/opt/kernel/boot/vmlinuz-$version" "$root/opt/kernel/vmlinuz"
chmod 644 "$root/opt/kernel/vmlinuz"
# Of its modules, those for the tiny guest and for the first stage of the emulated host.
modules=$root/opt/kernel/modules
mkdir "$modules"
for module in drivers/virtio/virtio drivers/virtio/virtio_ring drivers/virtio/virtio_pci_modern_dev \
    drivers/virtio/virtio_pci_legacy_dev drivers/virtio/virtio_pci drivers/char/virtio_console \
    drivers/char/hw_random/virtio-rng drivers/block/virtio_blk drivers/net/virtio_net \
    drivers/net/net_failover net/core/failover drivers/acpi/button drivers/input/evdev; do
    mv "$root/opt/kernel/lib/modules/$version/kernel/$module.ko" "$modules/"
done
rm -rf "$root/opt/kernel/boot" "$root/opt/kernel/usr" "$root/opt/kernel/lib"

# What the package libvirt-daemon-system would bring, without its services.
grep -q '^libvirt-qemu:' "$root/etc/passwd" || {
    echo 'libvirt-qemu:x:64055:64055::/var/lib/libvirt:/usr/sbin/nologin' >> "$root/etc/passwd"
    echo 'libvirt-qemu:x:64055:' >> "$root/etc/group"
}
grep -q '^kvm:' "$root/etc/group" || echo 'kvm:x:64056:' >> "$root/etc/group"
grep -q '^libvirt:' "$root/etc/group" || echo 'libvirt:x:64057:' >> "$root/etc/group"
mkdir -p "$root/etc/libvirt/qemu" "$root/var/log/libvirt/qemu" "$root/var/cache/libvirt/qemu" \
    "$root/var/lib/libvirt/qemu" "$root/var/lib/libvirt/images" "$root/var/lib/libvirt/boot"
rm -rf "$root/etc/libvirt/qemu/networks/autostart"
cat > "$root/etc/libvirt/libvirtd.conf" <<'CONF'
listen_tls = 0
listen_tcp = 1
auth_tcp = "none"
auth_unix_rw = "none"
unix_sock_rw_perms = "0700"
CONF
cat > "$root/etc/libvirt/qemu.conf" <<'CONF'
user = "root"
group = "root"
security_driver = "none"
remember_owner = 0
namespaces = []
CONF
echo 'aaaabbbbccccddddeeeeffff00001111' > "$root/etc/machine-id"
# One emulator less whose capabilities are asked for at each first start.
rm -f "$root/usr/bin/qemu-system-i386"

# The tiny guest: a Linux of one script, which says what it sees and obeys.
guest=$root/opt/guest
tree=$guest/tree
mkdir -p "$tree/bin" "$tree/sbin" "$tree/proc" "$tree/sys" "$tree/dev" "$tree/modules" "$tree/run" "$tree/tmp" "$tree/etc"
cp "$root/bin/busybox" "$tree/bin/"
cp "$scripts/guest-init.sh" "$tree/init"
for module in virtio virtio_ring virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci virtio_console \
    button evdev; do
    cp "$modules/$module.ko" "$tree/modules/"
done
# The agent asks for a program that shuts down, by this name.
printf '#!/bin/busybox sh\n/bin/busybox poweroff -f\n' > "$tree/sbin/shutdown"
chmod 755 "$tree/init" "$tree/sbin/shutdown"
cp "$root/usr/sbin/qemu-ga" "$tree/sbin/"
chroot "$root" ldd /usr/sbin/qemu-ga | grep -o '/[^ ]*' | while read -r library; do
    mkdir -p "$tree${library%/*}"
    cp -L "$root$library" "$tree$library"
done
chroot "$root" sh -euc 'cd /opt/guest/tree; find . | cpio -o -H newc --quiet > ../initrd'
rm -rf "$tree"
ln -s ../kernel/vmlinuz "$guest/vmlinuz"

# Asking QEMU what it can do takes libvirtd seconds; it keeps the answer as long as the files stay
# as they are.
chroot "$root" sh -euc '
    mkdir -p /run/libvirt
    timeout 120 libvirtd > /tmp/libvirtd.log 2>&1 &
    n=0
    until virsh -c qemu:///system domcapabilities --virttype qemu > /dev/null 2>&1; do
        n=$((n + 1))
        if [ $n -gt 100 ]; then cat /tmp/libvirtd.log; exit 1; fi
        sleep 0.2
    done
    kill $!
    wait || true
    rm -rf /run/libvirt /run/libvirtd.pid /tmp/libvirtd.log'
