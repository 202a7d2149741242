//! numawise: observe, plan, audit, apply, verify. This file is the table of contents: each command
//! is one file in `commands/`.

mod bench;
mod commands;
mod config;
mod confirm;
mod coordinated;
mod cpu_words;
mod deferred;
mod failure;
mod fleet_report;
mod fleet_requests;
mod fleet_search;
mod fleet_source;
mod foreign_report;
mod host_source;
mod input_file;
mod libvirt_host;
mod load_args;
mod oltp_args;
mod output;
mod place_args;
mod private_file;
mod request_args;
mod session;
mod size;
mod tune_args;
mod tune_failure;

use clap::{CommandFactory, Parser, Subcommand};
use deferred::Deferred;
use std::process::ExitCode;

/// Finds the right CPUs and memory for virtual machines on NUMA hosts, applies the choice through
/// the hypervisor, and verifies what the kernel really did.
#[derive(Parser)]
#[command(name = "numawise", version, after_help = failure::EXIT_CODES, max_term_width = 100)]
struct Cli {
    #[command(flatten)]
    global: config::GlobalArgs,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Look at a host: its picture, a capture of it, its use.
    #[command(subcommand)]
    Host(Deferred<commands::host::HostCommand>),
    /// Work out binding and vNUMA for a guest, a domain XML or a size; changes nothing.
    Plan(Deferred<commands::plan::PlanArgs>),
    /// Carry out a plan.
    Apply(Deferred<commands::apply::ApplyArgs>),
    /// Take back what the last plan wrote.
    Undo(Deferred<commands::undo::UndoArgs>),
    /// Hold a guest against its plan: stored XML, live XML, thread affinities, pages per node.
    Verify(Deferred<commands::verify::VerifyArgs>),
    /// Tell drift as it happens, until interrupted.
    Watch(Deferred<commands::watch::WatchArgs>),
    /// Hold a whole host against the rules: claims, pins, memory, what guests are told, interrupts.
    Audit(Deferred<commands::audit::AuditArgs>),
    /// Draw a guest's vNUMA and the host's pNUMA side by side.
    Show(Deferred<commands::show::ShowArgs>),
    /// All guests: binding, nodes, drift.
    List(Deferred<commands::list::ListArgs>),
    /// Plan, show the diff, ask, apply.
    Bind(Deferred<commands::bind::BindArgs>),
    /// Take the binding (and with it vNUMA) from a guest.
    Unbind(Deferred<commands::bind::UnbindArgs>),
    /// Move a guest to another host, with pins and nodes that are free there.
    Migrate(Deferred<commands::migrate::MigrateArgs>),
    /// Switch a bound guest's vNUMA on or off; the binding stays.
    #[command(subcommand)]
    Vnuma(Deferred<commands::vnuma::VnumaCommand>),
    /// Put load on CPUs: how fast they are, one by one or together.
    Cpu(Deferred<commands::cpu::CpuArgs>),
    /// Print what a CPU set text means.
    Cpuset(Deferred<commands::cpuset::CpusetArgs>),
    /// Try whether this host can do what plans ask of it.
    Doctor(Deferred<commands::doctor::DoctorArgs>),
    /// Many hosts: places for many guests, room for a large one, an empty host.
    #[command(subcommand)]
    Fleet(Deferred<commands::fleet::FleetCommand>),
    /// TPC-C's tables and transactions on a database, as HammerDB drives them.
    #[command(subcommand)]
    Tpcc(Deferred<commands::tpcc::TpccCommand>),
    /// Scenarios, repeated in turn under load, with a verdict on what they are worth.
    #[command(subcommand)]
    Experiment(Deferred<commands::experiment::ExperimentCommand>),
    /// Any command under several placements: which is faster, and is it so.
    Compare(Deferred<commands::compare::CompareArgs>),
    /// Old results of sysbench and HammerDB in one table, with the verdict that they allow.
    Import(Deferred<commands::import::ImportArgs>),
    /// sysbench's OLTP load on MySQL, PostgreSQL or SQLite.
    #[command(subcommand)]
    Oltp(Deferred<commands::oltp::OltpCommand>),
    /// The embedded hypervisor: a simulated host for machines without libvirt.
    #[command(subcommand)]
    Embedded(Deferred<commands::embedded::EmbeddedCommand>),
    /// Show the main job on a simulated two-node host.
    Demo(Deferred<commands::demo::DemoArgs>),
    /// Print a completion script for a shell.
    Completions(Deferred<commands::generate::CompletionsArgs>),
    /// Write the man pages into a folder.
    Man(Deferred<commands::generate::ManArgs>),
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return failure::usage(&error),
    };
    match run(&cli) {
        Ok(code) => code,
        Err(error) => {
            let words = std::env::args_os().skip(1).filter_map(|word| word.into_string().ok());
            failure::report(&error, Some(&failure::Options::typed(Cli::command(), words)))
        }
    }
}

fn run(cli: &Cli) -> anyhow::Result<ExitCode> {
    let global = &cli.global;
    match &cli.command {
        Command::Host(command) => commands::host::run(global, command),
        Command::Plan(args) => commands::plan::run(global, args),
        Command::Apply(args) => commands::apply::run(global, args),
        Command::Undo(args) => commands::undo::run(global, args),
        Command::Verify(args) => commands::verify::run(global, args),
        Command::Watch(args) => commands::watch::run(global, args),
        Command::Audit(args) => commands::audit::run(global, args),
        Command::Show(args) => commands::show::run(global, args),
        Command::List(args) => commands::list::run(global, args),
        Command::Bind(args) => commands::bind::run(global, args),
        Command::Unbind(args) => commands::bind::run_unbind(global, args),
        Command::Migrate(args) => commands::migrate::run(global, args),
        Command::Vnuma(command) => commands::vnuma::run(global, command),
        Command::Cpu(args) => commands::cpu::run(global, args),
        Command::Cpuset(args) => commands::cpuset::run(global, args),
        Command::Doctor(args) => commands::doctor::run(global, args),
        Command::Fleet(command) => commands::fleet::run(global, command),
        Command::Tpcc(command) => commands::tpcc::run(global, command),
        Command::Experiment(command) => commands::experiment::run(global, command),
        Command::Compare(args) => commands::compare::run(global, args),
        Command::Import(args) => commands::import::run(global, args),
        Command::Oltp(command) => commands::oltp::run(global, command),
        Command::Embedded(command) => commands::embedded::run(global, command),
        Command::Demo(args) => commands::demo::run(args),
        Command::Completions(args) => commands::generate::completions(args, Cli::command()),
        Command::Man(args) => commands::generate::man(args, Cli::command()),
    }
}
