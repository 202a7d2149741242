//! Arguments that are described to the parser only when their command is the one that was typed.
//!
//! The parser wants every option of every command before it looks at the command line. For all the
//! commands of numawise that is a third of the time a short command takes. Behind [`Deferred`] a
//! command has its name and its sentence; the rest is asked for when it is chosen, or when help,
//! completions or man pages are made of the whole.

use clap::builder::Resettable;
use clap::error::Error;
use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};
use std::ops::Deref;

pub struct Deferred<T>(T);

impl<T> Deref for Deferred<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: FromArgMatches> FromArgMatches for Deferred<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}

impl<T: Args> Args for Deferred<T> {
    fn augment_args(command: Command) -> Command {
        command.defer(|command| keeping_sentence(command, T::augment_args))
    }

    fn augment_args_for_update(command: Command) -> Command {
        T::augment_args_for_update(command)
    }
}

impl<T: Subcommand> Subcommand for Deferred<T> {
    fn augment_subcommands(command: Command) -> Command {
        command.defer(|command| keeping_sentence(command, T::augment_subcommands))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        T::augment_subcommands_for_update(command)
    }

    fn has_subcommand(name: &str) -> bool {
        T::has_subcommand(name)
    }
}

/// The sentence in the table of contents stands; without this that of the arguments' type would
/// take its place, since it now comes later.
fn keeping_sentence(command: Command, augment: fn(Command) -> Command) -> Command {
    let about = command.get_about().cloned();
    let long_about = command.get_long_about().cloned();
    augment(command).about(Resettable::from(about)).long_about(Resettable::from(long_about))
}
