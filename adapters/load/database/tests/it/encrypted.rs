//! Connections under TLS, and the password under a public key.

use crate::tables::{fill, options, run_events, target};
use numawise_database::oltp::Workload;
use numawise_database::{Connected, Load};
use numawise_testkit::servers::PrivateMariaDb;
use std::path::Path;
use std::process::Command;

/// A certificate for 127.0.0.1 and localhost that signs itself; false where openssl is not here.
fn certificate(folder: &Path) -> bool {
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=test"])
        .args(["-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE", "-keyout"])
        .arg(folder.join("key.pem"))
        .arg("-out")
        .arg(folder.join("certificate.pem"))
        .output();
    let made = made.is_ok_and(|out| out.status.success());
    if !made {
        println!("skipped: openssl is not here");
        assert!(std::env::var_os(numawise_testkit::testbed::REQUIRED).is_none(), "it has to be");
    }
    made
}

#[test]
fn a_load_runs_under_tls_and_a_stranger_is_not_believed() {
    let folder = tempfile::tempdir().expect("a folder");
    if !certificate(folder.path()) {
        return;
    }
    // The server runs as another user.
    for name in ["", "key.pem", "certificate.pem"] {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(folder.path().join(name), mode).expect("readable");
    }
    let certificate = folder.path().join("certificate.pem");
    let key = format!("--ssl-key={}", folder.path().join("key.pem").display());
    let cert = format!("--ssl-cert={}", certificate.display());
    let Some(server) = PrivateMariaDb::start(&[&key, &cert, "--require-secure-transport=1"]) else {
        return;
    };
    let wanted = options(Workload::ReadWrite, 1, 5000);
    let known = format!("{}?ca={}", server.tcp_target(), certificate.display());
    fill(&target(&known), &wanted, 2, false);
    for text in [known, format!("{}?tls=unverified", server.tcp_target())] {
        assert_eq!(run_events(&target(&text), &wanted, 3, 60).counts.transactions, 60, "{text}");
    }
    let stranger = target(&format!("{}?tls=verified", server.tcp_target()));
    let refused = Connected::connect(&stranger, &Load::new(wanted.clone())).err();
    assert!(refused.is_some_and(|error| error.is_no_access()), "nobody has signed for it");
    let clear = Connected::connect(&target(&server.tcp_target()), &Load::new(wanted)).err();
    assert!(clear.is_some(), "the server wants TLS");
}
