//! What a connection URI says of where its host is.

/// Which machine's kernel runs the guests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// This one: its files and processes can be looked at.
    Here,
    /// Another one, of which only libvirt can tell.
    Elsewhere,
    /// None: libvirt's `test` driver makes host and guests up.
    Nowhere,
}

/// Of `driver[+transport]://[host]/path[?options]`. A socket's path is a file here, even where it
/// leads elsewhere through a tunnel: whoever digs one must say so by another transport.
pub(super) fn place(uri: &str) -> Place {
    let (scheme, rest) = uri.split_once(':').unwrap_or((uri, ""));
    let (driver, transport) = scheme.split_once('+').unwrap_or((scheme, ""));
    if driver == "test" {
        return Place::Nowhere;
    }
    let authority = rest.strip_prefix("//").unwrap_or("").split(['/', '?', '#']).next();
    let has_host = authority.is_some_and(|host| !host.is_empty());
    match transport {
        "" if !has_host => Place::Here,
        "unix" => Place::Here,
        _ => Place::Elsewhere,
    }
}

#[cfg(test)]
mod tests {
    use super::{Place, place};

    #[test]
    fn a_host_or_a_transport_over_the_net_is_elsewhere() {
        for (uri, wanted) in [
            ("qemu:///system", Place::Here),
            ("qemu:///session", Place::Here),
            ("qemu:///system?socket=/run/x", Place::Here),
            ("qemu+unix:///system?socket=/run/x", Place::Here),
            ("qemu+ssh://root@db7/system", Place::Elsewhere),
            ("qemu+tcp://127.0.0.1:16509/system", Place::Elsewhere),
            ("qemu://db7/system", Place::Elsewhere),
            ("qemu+libssh2:///system", Place::Elsewhere),
            ("test:///default", Place::Nowhere),
            ("qemu", Place::Here),
        ] {
            assert_eq!(place(uri), wanted, "{uri}");
        }
    }
}
