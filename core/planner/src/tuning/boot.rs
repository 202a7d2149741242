//! The files that are read at boot: one for `systemd-tmpfiles`, one for `sysctl`.

use super::Draft;
use numawise_model::{PathState, TuningFinding, TuningReason};

pub const HEAD: &str =
    "# Written by numawise host tune apply; numawise host tune undo puts back what was here.\n";
const TMPFILES: [&str; 2] = ["/etc/tmpfiles.d", "numawise.conf"];
const SYSCTLS: [&str; 2] = ["/etc/sysctl.d", "60-numawise.conf"];
/// Read after every folder by `sysctl --system`, and by nobody else.
const LAST: &str = "/etc/sysctl.conf";

pub fn paths() -> Vec<String> {
    let file = |[folder, name]: [&str; 2]| format!("{folder}/{name}");
    let folders = [TMPFILES[0], SYSCTLS[0], LAST].map(str::to_owned);
    folders.into_iter().chain([file(TMPFILES), file(SYSCTLS)]).collect()
}

pub fn wish(draft: &mut Draft<'_>) {
    let lines = std::mem::take(&mut draft.tmpfiles);
    if !lines.is_empty() {
        let text = lines.iter().fold(HEAD.to_owned(), |text, line| text + line + "\n");
        draft.wish_file(TMPFILES[0], TMPFILES[1], text, TuningReason::AtBoot);
    }
    let keys = std::mem::take(&mut draft.sysctls);
    if !keys.is_empty() {
        let line = |(key, value): &(&str, &str)| format!("{key} = {value}\n");
        let text = HEAD.to_owned() + &keys.iter().map(line).collect::<String>();
        draft.wish_file(SYSCTLS[0], SYSCTLS[1], text, TuningReason::AtBoot);
    }
    for (key, value) in keys {
        overridden(draft, key, value);
    }
}

/// Files are read by their names, whatever folder they are in; the last to set a key wins.
fn overridden(draft: &mut Draft<'_>, key: &str, wanted: &str) {
    let is_later = |path: &str| {
        let name = path.rsplit('/').next();
        let in_folder = super::SYSCTL_FOLDERS
            .iter()
            .any(|folder| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')));
        path == LAST || (in_folder && name > Some(SYSCTLS[1]))
    };
    let mut found = Vec::new();
    for (path, state) in draft.settings().paths.iter().filter(|(path, _)| is_later(path)) {
        let PathState::Text(text) = state else { continue };
        if let Some(value) = set_in(text, key).filter(|value| *value != wanted) {
            let (file, key, value) = (path.clone(), key.to_owned(), value.to_owned());
            found.push(TuningFinding::OverriddenAtBoot { file, key, value });
        }
    }
    draft.findings.extend(found);
}

/// The value that a file of `sysctl.d` gives a key: `kernel.numa_balancing = 1`, also with slashes
/// in the key and a dash before it.
fn set_in<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let mut found = None;
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';'])) {
        if let Some((name, value)) = line.split_once('=') {
            let name = name.trim().trim_start_matches('-').replace('/', ".");
            if name == key {
                found = Some(value.trim());
            }
        }
    }
    found
}
