//! Files for their owner alone: plans and domain XML may hold secrets.

use anyhow::{Context, Result};
use std::io::Write;
use std::path::Path;

/// Mode 0600, written whole or not at all.
pub fn write(path: &Path, text: &str) -> Result<()> {
    let write = || -> std::io::Result<()> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let mut file = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    };
    write().with_context(|| format!("writing {}", path.display()))
}
