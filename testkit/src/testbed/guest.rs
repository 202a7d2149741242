//! A Linux that boots under software emulation in a few seconds, for domains of `type='qemu'`.

/// Where its files are, seen by the libvirtd of a [`super::PrivateLibvirtd`] and by the one inside
/// an emulated host alike, and what its console says.
///
/// Two other guests need no files: a domain without any disk or kernel stops in its firmware and
/// never shuts down, however it is asked; and a tiny guest whose domain has no channel
/// `org.qemu.guest_agent.0` has no agent, yet obeys the power button.
pub struct TinyGuest;

impl TinyGuest {
    pub const KERNEL: &str = "/opt/guest/vmlinuz";
    pub const INITRD: &str = "/opt/guest/initrd";

    /// What keeps the boot short where nothing is faster than software: above all no measuring of
    /// clocks, which fails inside an emulated host and is then done again. The console is the first
    /// serial port.
    pub const CMDLINE: &str = "console=ttyS0 quiet mitigations=off nokaslr no_timer_check \
        cryptomgr.notests panic=-1 random.trust_cpu=on lpj=4000000 nohz=on highres=off \
        tsc=reliable clocksource=tsc";

    /// On the console once everything is said and the agent answers.
    pub const READY: &str = "GUEST-READY";

    /// On the console when the power button was pressed.
    pub const BUTTON: &str = "GUEST-BUTTON";

    /// The `<os>` element.
    pub fn os_xml(machine: &str) -> String {
        format!(
            "<os><type arch='x86_64' machine='{machine}'>hvm</type><kernel>{}</kernel>\
             <initrd>{}</initrd><cmdline>{}</cmdline></os>",
            Self::KERNEL,
            Self::INITRD,
            Self::CMDLINE
        )
    }

    /// The channel by which libvirt reaches the guest's agent; goes into `<devices>`.
    pub fn agent_xml() -> &'static str {
        "<channel type='unix'><target type='virtio' name='org.qemu.guest_agent.0'/></channel>"
    }

    /// A serial console that writes to a file; goes into `<devices>`.
    pub fn console_xml(log: &str) -> String {
        format!("<serial type='file'><source path='{log}'/><target port='0'/></serial>")
    }
}
