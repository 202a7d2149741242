#!/bin/sh
# Turns a bare Debian root of a newer release into one that a private libvirtd runs from. Runs
# outside of it. $1: the root.
set -eu
root=$1

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
rm -f "$root/usr/bin/qemu-system-i386"

# As in the older root: libvirtd keeps what QEMU says it can do.
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
