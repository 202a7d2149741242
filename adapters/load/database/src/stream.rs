//! A connected socket, unix or TCP, encrypted or not, read and written with one system call each.

use crate::target::{Address, Target, Tls};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{RecvFlags, SendFlags, recv, send, sockopt};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

/// How long a server may take to accept a connection, and to answer while it logs in.
pub const ANSWERS_WITHIN: Duration = Duration::from_secs(30);

pub struct Stream {
    socket: OwnedFd,
    tls: Option<Box<ClientConnection>>,
}

impl Stream {
    /// Connected, in clear, waiting for what it reads.
    pub fn connect(target: &Target) -> io::Result<Self> {
        let socket = match &target.address {
            Address::Tcp { host, port } => connect_tcp(host, *port)?,
            Address::Socket(path) => OwnedFd::from(UnixStream::connect(path)?),
            Address::File(_) => return Err(ErrorKind::Unsupported.into()),
        };
        for way in [sockopt::Timeout::Recv, sockopt::Timeout::Send] {
            sockopt::set_socket_timeout(&socket, way, Some(ANSWERS_WITHIN))?;
        }
        Ok(Self { socket, tls: None })
    }

    pub fn is_encrypted(&self) -> bool {
        self.tls.is_some()
    }

    /// Reads give what is there from now on, or say that nothing is.
    pub fn set_nonblocking(&mut self, nonblocking: bool) -> io::Result<()> {
        Ok(rustix::io::ioctl_fionbio(&self.socket, nonblocking)?)
    }

    /// For statements that may take hours.
    pub fn wait_forever(&self) -> io::Result<()> {
        Ok(sockopt::set_socket_timeout(&self.socket, sockopt::Timeout::Recv, None)?)
    }

    /// Encrypts what follows.
    pub fn start_tls(&mut self, target: &Target) -> io::Result<()> {
        let host = match &target.address {
            Address::Tcp { host, .. } => host.clone(),
            Address::Socket(_) | Address::File(_) => "localhost".to_owned(),
        };
        let name = ServerName::try_from(host).map_err(io::Error::other)?;
        let config = client_config(&target.tls)?;
        let mut tls = ClientConnection::new(config, name).map_err(io::Error::other)?;
        while tls.is_handshaking() {
            tls.complete_io(&mut Socket(&self.socket))?;
        }
        self.tls = Some(Box::new(tls));
        Ok(())
    }

    /// Sends all of it. A full socket is waited for: what is sent here is far smaller than its buffer.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.tls {
            None => Socket(&self.socket).write_all(bytes),
            Some(tls) => {
                let mut rest = bytes;
                while !rest.is_empty() {
                    let taken = tls.writer().write(rest)?;
                    rest = &rest[taken..];
                    while tls.wants_write() {
                        tls.write_tls(&mut Socket(&self.socket))?;
                    }
                }
                Ok(())
            }
        }
    }

    /// What has come. An end of the stream is an error, since nobody hangs up on purpose.
    pub fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = match &mut self.tls {
            None => recv(&self.socket, &mut *buffer, RecvFlags::empty())?.0,
            Some(tls) => loop {
                match tls.reader().read(buffer) {
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                    other => break other?,
                }
                if tls.read_tls(&mut Socket(&self.socket))? == 0 {
                    break 0;
                }
                tls.process_new_packets().map_err(io::Error::other)?;
            },
        };
        if read == 0 { Err(ErrorKind::UnexpectedEof.into()) } else { Ok(read) }
    }

    /// Waits for the whole of the buffer.
    pub fn receive_exact(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        let mut filled = 0;
        while filled < buffer.len() {
            filled += self.receive(&mut buffer[filled..])?;
        }
        Ok(())
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn connect_tcp(host: &str, port: u16) -> io::Result<OwnedFd> {
    let mut last = io::Error::from(ErrorKind::NotFound);
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, ANSWERS_WITHIN) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                return Ok(stream.into());
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// The socket as the traits of `std` want it.
struct Socket<'a>(&'a OwnedFd);

impl Read for Socket<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(recv(self.0, buffer, RecvFlags::empty())?.0)
    }
}

impl Write for Socket<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match send(self.0, bytes, SendFlags::NOSIGNAL) {
                Err(rustix::io::Errno::AGAIN) => {
                    let mut wanted = [PollFd::new(self.0, PollFlags::OUT)];
                    let limit = Timespec::try_from(ANSWERS_WITHIN).map_err(io::Error::other)?;
                    if poll(&mut wanted, Some(&limit))? == 0 {
                        return Err(ErrorKind::TimedOut.into());
                    }
                }
                other => return Ok(other?),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn client_config(tls: &Tls) -> io::Result<Arc<ClientConfig>> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?;
    let config = match tls {
        Tls::Off | Tls::Unverified => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(trust::Anybody(provider)))
            .with_no_client_auth(),
        Tls::Verified { authority } => {
            let mut roots = RootCertStore::empty();
            match authority {
                Some(file) => {
                    for certificate in
                        CertificateDer::pem_file_iter(file).map_err(io::Error::other)?
                    {
                        let certificate = certificate.map_err(io::Error::other)?;
                        roots.add(certificate).map_err(io::Error::other)?;
                    }
                }
                None => {
                    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
                }
            }
            builder.with_root_certificates(roots).with_no_client_auth()
        }
    };
    Ok(Arc::new(config))
}

/// The verifier for `tls=unverified`, which the user has asked for by that name.
mod trust {
    use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
    use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
    use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
    use rustls::{DigitallySignedStruct, Error, SignatureScheme};
    use std::sync::Arc;

    #[derive(Debug)]
    pub struct Anybody(pub Arc<CryptoProvider>);

    impl ServerCertVerifier for Anybody {
        fn verify_server_cert(
            &self,
            _: &CertificateDer<'_>,
            _: &[CertificateDer<'_>],
            _: &ServerName<'_>,
            _: &[u8],
            _: UnixTime,
        ) -> Result<ServerCertVerified, Error> {
            Ok(ServerCertVerified::assertion())
        }

        fn verify_tls12_signature(
            &self,
            message: &[u8],
            certificate: &CertificateDer<'_>,
            signed: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            let known = &self.0.signature_verification_algorithms;
            verify_tls12_signature(message, certificate, signed, known)
        }

        fn verify_tls13_signature(
            &self,
            message: &[u8],
            certificate: &CertificateDer<'_>,
            signed: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            let known = &self.0.signature_verification_algorithms;
            verify_tls13_signature(message, certificate, signed, known)
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            self.0.signature_verification_algorithms.supported_schemes()
        }
    }
}
