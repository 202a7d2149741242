//! The words of a command, with the values of a run put in.

use numawise_documents::experiment::CommandDoc;
use std::path::Path;

/// What `{threads}`, `{seconds}`, `{scenario}`, `{host}` and `{target}` stand for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Values<'a> {
    pub threads: Option<u32>,
    pub seconds: Option<f64>,
    pub scenario: &'a str,
    pub host: &'a str,
    pub targets: &'a [String],
}

/// A line goes through the shell, where `numawise` is a function of this program's.
pub fn of(
    command: &CommandDoc,
    values: &Values<'_>,
    program: &Path,
    global: &[String],
) -> Vec<String> {
    match command {
        CommandDoc::Words(words) => {
            let mut words = words.iter().map(|word| put_in(word, values));
            let own = program.display().to_string();
            match words.next() {
                Some(first) if first == "numawise" => {
                    [own].into_iter().chain(global.iter().cloned()).chain(words).collect()
                }
                first => first.into_iter().chain(words).collect(),
            }
        }
        CommandDoc::Shell(line) => {
            // `numawise "$@"` with everything quoted by the shell itself: no text becomes code.
            let script = format!(
                "numawise() {{ \"$NUMAWISE_ITSELF\" {} \"$@\"; }}\n{}",
                global.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
                put_in(line, values)
            );
            let itself = format!("NUMAWISE_ITSELF={}", program.display());
            ["env", &itself, "sh", "-e", "-c", &script].map(str::to_owned).to_vec()
        }
    }
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn put_in(text: &str, values: &Values<'_>) -> String {
    let mut text = text.replace("{scenario}", values.scenario).replace("{host}", values.host);
    if let Some(threads) = values.threads {
        text = text.replace("{threads}", &threads.to_string());
    }
    if let Some(seconds) = values.seconds {
        text = text.replace("{seconds}", &seconds.to_string());
    }
    match values.targets.first() {
        Some(target) => text.replace("{target}", target),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(command: CommandDoc) -> Vec<String> {
        let targets = ["sqlite:/tmp/a b".to_owned()];
        let values = Values {
            threads: Some(8),
            seconds: Some(2.5),
            scenario: "on",
            host: "here",
            targets: &targets,
        };
        of(&command, &values, Path::new("/opt/numawise"), &["--state".into(), "/it's".into()])
    }

    #[test]
    fn values_are_put_in_and_our_own_name_is_this_program() {
        let given = ["numawise", "oltp", "{target}", "-t{threads}", "{seconds}"].map(str::to_owned);
        let wanted =
            ["/opt/numawise", "--state", "/it's", "oltp", "sqlite:/tmp/a b", "-t8", "2.5"];
        assert_eq!(words(CommandDoc::Words(given.to_vec())), wanted);
        let other = ["sysbench", "{scenario}{host}", "{other}"].map(str::to_owned).to_vec();
        assert_eq!(words(CommandDoc::Words(other)), ["sysbench", "onhere", "{other}"]);
    }

    #[test]
    fn a_line_goes_through_the_shell_with_our_own_name_in_it() {
        let itself = tempfile::tempdir().expect("a folder");
        let program = itself.path().join("fake");
        std::fs::write(&program, "#!/bin/sh\nprintf '[%s]' \"$@\"\n").expect("written");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&program, mode).expect("set");
        let line = CommandDoc::Shell("numawise bind 'db 1' | tr '[' '<'".to_owned());
        let values = Values::default();
        let words = of(&line, &values, &program, &["--state".into(), "/it's".into()]);
        let ended = numawise_generator::run_command(&words, &Default::default()).expect("ended");
        assert_eq!(ended.output, "<--state]</it's]<bind]<db 1]");
        let bad = of(&CommandDoc::Shell("false; echo on".into()), &values, &program, &[]);
        assert!(numawise_generator::run_command(&bad, &Default::default()).is_err());
    }
}
