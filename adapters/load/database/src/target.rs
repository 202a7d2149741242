//! Which database a load is for: one text, as in `mysql://user:password@host:3306/sbtest`.
//!
//! The password is in none of the texts that a [`Target`] is shown as.

use percent_encoding::percent_decode_str;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use thiserror::Error;
use url::Url;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Engine {
    /// MySQL, MariaDB, TiDB: whatever speaks its protocol.
    MySql,
    PostgreSql,
    Sqlite,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    Tcp {
        host: String,
        port: u16,
    },
    /// A unix socket; for PostgreSQL the socket itself, not its folder.
    Socket(PathBuf),
    /// SQLite's database file.
    File(PathBuf),
}

/// Whether the connection is encrypted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Tls {
    #[default]
    Off,
    /// Encrypted, and whoever answers is believed.
    Unverified,
    /// Encrypted, and the server's certificate is checked: against this authority, or the usual ones.
    Verified { authority: Option<PathBuf> },
}

/// One database to put load on.
#[derive(Clone, PartialEq, Eq)]
pub struct Target {
    pub engine: Engine,
    pub address: Address,
    pub user: String,
    pub password: Option<String>,
    pub database: String,
    pub tls: Tls,
}

/// Says where and what was wrong, never the password.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "not a database: {why}; wanted mysql://USER:PASSWORD@HOST:PORT/DATABASE, \
     mysql://USER@localhost/DATABASE?socket=FILE, postgres://... alike, or sqlite:FILE"
)]
pub struct TargetError {
    pub why: String,
}

impl FromStr for Target {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, TargetError> {
        if let Some(file) = text.strip_prefix("sqlite:") {
            return Self::sqlite(file);
        }
        let url = Url::parse(text).map_err(|error| wrong(error.to_string()))?;
        let (engine, usual_port, usual_user) = match url.scheme() {
            "mysql" | "mariadb" | "tidb" => (Engine::MySql, 3306, "root"),
            "postgres" | "postgresql" => (Engine::PostgreSql, 5432, "postgres"),
            other => return Err(wrong(format!("no database is called {other:?}"))),
        };
        let options = Options::of(&url)?;
        let address = match (options.socket, url.host_str()) {
            (Some(socket), _) => Address::Socket(socket),
            (None, Some(host)) if !host.is_empty() => {
                let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
                Address::Tcp { host, port: url.port().unwrap_or(usual_port) }
            }
            (None, _) => return Err(wrong("there is neither a host nor ?socket=FILE")),
        };
        let database = decoded(url.path().trim_start_matches('/'))?;
        if database.is_empty() || database.contains('/') {
            return Err(wrong(format!("{database:?} is no name of a database")));
        }
        let user = match url.username() {
            "" => usual_user.to_owned(),
            user => decoded(user)?,
        };
        let password = url.password().map(decoded).transpose()?;
        Ok(Self { engine, address, user, password, database, tls: options.tls })
    }
}

impl Target {
    fn sqlite(file: &str) -> Result<Self, TargetError> {
        let file = file.strip_prefix("//").unwrap_or(file);
        if file.is_empty() {
            return Err(wrong("sqlite: names no file"));
        }
        Ok(Self {
            engine: Engine::Sqlite,
            address: Address::File(PathBuf::from(file)),
            user: String::new(),
            password: None,
            database: "main".to_owned(),
            tls: Tls::Off,
        })
    }
}

/// What stands behind the question mark.
struct Options {
    socket: Option<PathBuf>,
    tls: Tls,
}

impl Options {
    fn of(url: &Url) -> Result<Self, TargetError> {
        let (mut socket, mut tls, mut authority) = (None, None, None);
        for (key, value) in url.query_pairs() {
            match key.as_ref() {
                "socket" => socket = Some(PathBuf::from(value.as_ref())),
                "ca" => authority = Some(PathBuf::from(value.as_ref())),
                "tls" => tls = Some(value.into_owned()),
                other => {
                    return Err(wrong(format!("no option is called {other:?} (socket, tls, ca)")));
                }
            }
        }
        let tls = match (tls.as_deref(), authority) {
            (None | Some("off"), None) => Tls::Off,
            (Some("unverified"), None) => Tls::Unverified,
            (None | Some("verified"), authority) => Tls::Verified { authority },
            (Some(other @ ("off" | "unverified")), Some(_)) => {
                return Err(wrong(format!("ca= is there, and tls={other} would not look at it")));
            }
            (Some(other), _) => {
                return Err(wrong(format!("tls={other} is none of off, unverified, verified")));
            }
        };
        Ok(Self { socket, tls })
    }
}

fn decoded(text: &str) -> Result<String, TargetError> {
    match percent_decode_str(text).decode_utf8() {
        Ok(decoded) => Ok(decoded.into_owned()),
        Err(_) => Err(wrong("a part of it is not UTF-8")),
    }
}

fn wrong(why: impl Into<String>) -> TargetError {
    TargetError { why: why.into() }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.engine {
            Engine::MySql => "mysql",
            Engine::PostgreSql => "postgres",
            Engine::Sqlite => "sqlite",
        };
        match &self.address {
            Address::Tcp { host, port } if host.contains(':') => {
                write!(f, "{scheme}://{}@[{host}]:{port}/{}", self.user, self.database)
            }
            Address::Tcp { host, port } => {
                write!(f, "{scheme}://{}@{host}:{port}/{}", self.user, self.database)
            }
            Address::Socket(socket) => write!(
                f,
                "{scheme}://{}@localhost/{}?socket={}",
                self.user,
                self.database,
                socket.display()
            ),
            Address::File(file) => write!(f, "{scheme}:{}", file.display()),
        }
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Target({self}, {:?})", self.tls)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(text: &str) -> Target {
        text.parse().expect(text)
    }

    #[test]
    fn a_target_is_one_text() {
        let full = target("mysql://sb:p%40ss@db1:3307/sbtest?tls=unverified");
        assert_eq!(full.address, Address::Tcp { host: "db1".into(), port: 3307 });
        assert_eq!((full.user.as_str(), full.password.as_deref()), ("sb", Some("p@ss")));
        assert_eq!((full.database.as_str(), &full.tls), ("sbtest", &Tls::Unverified));
        let socket = target("mariadb://root@localhost/sbtest?socket=/run/my.sock");
        assert_eq!(socket.address, Address::Socket("/run/my.sock".into()));
        let pg = target("postgres://[::1]/bench?ca=/etc/ca.pem");
        assert_eq!(pg.address, Address::Tcp { host: "::1".into(), port: 5432 });
        assert_eq!(pg.tls, Tls::Verified { authority: Some("/etc/ca.pem".into()) });
        assert_eq!(target("sqlite:/tmp/x.db").address, Address::File("/tmp/x.db".into()));
    }

    #[test]
    fn a_target_shows_no_password_and_reads_back_what_it_shows() {
        for text in [
            "mysql://sb:secret@db1:3307/sbtest",
            "postgres://sb:secret@localhost/b?socket=/run/s",
            "mysql://sb:secret@[::1]:3306/x",
            "sqlite:/tmp/x.db",
        ] {
            let target = target(text);
            let shown = target.to_string();
            assert!(!format!("{shown} {target:?}").contains("secret"), "{shown}");
            assert_eq!(shown.parse::<Target>().map(|t| t.address), Ok(target.address), "{shown}");
        }
    }

    #[test]
    fn what_is_no_target_says_why() {
        for (text, why) in [
            ("db1:3306", "no database is called"),
            ("mysql://db1", "no name of a database"),
            ("mysql://db1/a/b", "no name of a database"),
            ("mysql:///sbtest", "neither a host"),
            ("mysql://db1/x?tls=maybe", "tls=maybe"),
            ("mysql://db1/x?tls=off&ca=/a", "would not look at it"),
            ("mysql://db1/x?sockt=/a", "sockt"),
            ("sqlite:", "names no file"),
            ("nonsense", "relative URL"),
        ] {
            let error = text.parse::<Target>().expect_err(text);
            assert!(error.why.contains(why), "{text}: {error}");
        }
    }
}
