//! `numawise fleet`: places for many guests on many hosts, room for a large one, an empty host. All of
//! it is planned only.

use crate::config::GlobalArgs;
use crate::failure::{REFUSED, USAGE, coded};
use crate::fleet_report::{
    self, Refused, grouped, memory_unknown, move_doc, move_row, place_doc, place_row, refusal_doc,
    refusal_row, stay_doc,
};
use crate::fleet_requests::{self, Asked};
use crate::fleet_search::{Answer, How, place, refusals};
use crate::fleet_source::{self, FleetSource};
use crate::{output, private_file};
use anyhow::Result;
use clap::{Args, Subcommand};
use numawise_documents::fleet::{FleetMovesDoc, FleetPlanDoc};
use numawise_model::HostId;
use numawise_planner::fleet::groups::Allowed;
use numawise_planner::fleet::{
    Bound, Choice, Held, Item, NotPlaced, Placed, Room, Scope, Staying, evacuate, make_room,
    stands_when_empty,
};
use numawise_render::Look;
use numawise_render::text::{self, FleetRefusal};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

#[derive(Subcommand)]
pub enum FleetCommand {
    /// Find places for many guests: all of them, or none.
    #[command(after_help = REQUEST)]
    Plan(PlanArgs),
    /// Find the fewest moves of guests that make room for one.
    #[command(after_help = FOR)]
    Defrag(DefragArgs),
    /// Find another place for every guest of a host.
    Evacuate(EvacuateArgs),
}

#[derive(Args)]
pub struct FleetArgs {
    /// Folder with a file for each host (a capture, or what --host reads), NAME.ledger.json for
    /// what is given away on it, and hosts.toml for racks.
    #[arg(long, value_name = "DIR")]
    hosts: PathBuf,
    /// Stop the search after so long with the best answer so far, like 500ms or 2s. Reading the
    /// hosts comes before, and is not counted.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    deadline: Option<Duration>,
    /// Stop after so many questions to the search on one host.
    #[arg(long, value_name = "N", default_value_t = 200_000)]
    steps: u32,
    /// Write the document here as well.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

const REQUEST: &str = "\
A request is a JSON object a line, or a [[request]] in a file that ends in .toml:
  vcpus, memory   how many, and like \"128G\"; both are needed
  name            what it is called in the answer
  page-size       4K, 2M, 1G
  l3              compact, spread, or a number of L3 domains
  smt             prefer, require, isolate, avoid
  split           auto (or even-first), even, uneven, exact:32,16
  vnodes          how many vNUMA nodes
  emulator        housekeeping, isolate (a pCPU for the emulator alone)
  count           so many guests like this
  apart           a group of which no two are on one host
  together        a group that is on one host
  per-rack        a group of which no two are in one rack; hosts.toml must say the racks";

const FOR: &str = "\
REQUEST is KEY=VALUE with commas between: vcpus and memory, and where they are wanted page-size,
l3, smt, split, vnodes, emulator, as numawise fleet plan --help has them.";

#[derive(Args)]
pub struct PlanArgs {
    #[command(flatten)]
    fleet: FleetArgs,
    /// What is asked for.
    #[arg(long, value_name = "FILE")]
    requests: PathBuf,
    /// Place as many as there are places for.
    #[arg(long)]
    most: bool,
    /// Place one by one in the order of the file, as if nothing were known of the rest.
    #[arg(long, conflicts_with = "most")]
    in_order: bool,
    /// Say what decided for each.
    #[arg(long)]
    explain: bool,
}

#[derive(Args)]
pub struct DefragArgs {
    #[command(flatten)]
    fleet: FleetArgs,
    /// The guest that needs room, like 'vcpus=32,memory=128G,l3=compact'.
    #[arg(long = "for", value_name = "REQUEST")]
    wanted: String,
}

#[derive(Args)]
pub struct EvacuateArgs {
    /// The host to empty, by its name in the folder.
    host: String,
    #[command(flatten)]
    fleet: FleetArgs,
}

pub fn run(global: &GlobalArgs, command: &FleetCommand) -> Result<ExitCode> {
    match command {
        FleetCommand::Plan(args) => plan(global, args),
        FleetCommand::Defrag(args) => defrag(global, args),
        FleetCommand::Evacuate(args) => empty(global, args),
    }
}

fn plan(global: &GlobalArgs, args: &PlanArgs) -> Result<ExitCode> {
    let source = fleet_source::read(global, &args.fleet.hosts)?;
    let asked = fleet_requests::read(&args.requests)?;
    let items: Vec<Item> = asked.iter().map(|asked| asked.item.clone()).collect();
    let answer = args.fleet.bounded(|bound| place(args.how(), &source, &items, bound));
    let Answer { batch, .. } = &answer;
    let placed = || asked.iter().zip(&batch.placed).filter_map(|(a, p)| Some((a, p.as_ref()?)));
    let refusals = refusals(&source, &asked, &answer);
    let doc = FleetPlanDoc::new(
        placed().map(|(asked, placed)| place_doc(&source, &asked.name, placed)).collect(),
        refusals.iter().map(refusal_doc).collect(),
        batch.is_cut_short,
    );
    args.fleet.write(&doc.to_json())?;
    let code = if doc.complete { ExitCode::SUCCESS } else { ExitCode::from(REFUSED) };
    if global.json {
        output::print(&doc.to_json())?;
        return Ok(code);
    }
    let look = output::look(false);
    let rows: Vec<_> =
        placed().map(|(asked, placed)| place_row(&source, &asked.name, placed)).collect();
    if !rows.is_empty() {
        output::print(&text::fleet_places(&rows, &look))?;
    }
    if args.explain {
        output::print(&text::fleet_reasons(&rows, &look))?;
    }
    if batch.is_cut_short {
        output::print(text::fleet_cut_short())?;
    }
    let given = batch.placed.iter().flatten().map(|placed| (placed.host, &placed.held));
    say_memory_unknown(&source, given, &look);
    if !refusals.is_empty() {
        if let Some((wanted, free)) = answer.more_than_there_is {
            output::remark(&text::fleet_more_than_there_is(wanted, free, &look));
        }
        output::remark(&text::fleet_refusals(&grouped(&refusals), &look));
        if rows.is_empty() && !args.most && !args.in_order {
            output::remark(&text::fleet_all_or_nothing(answer.others, refusals.len()));
        }
    }
    Ok(code)
}

fn say_memory_unknown<'a>(
    source: &FleetSource,
    given: impl Iterator<Item = (usize, &'a Held)>,
    look: &Look,
) {
    let unknown = memory_unknown(source, given);
    if !unknown.is_empty() {
        output::remark(&text::fleet_memory_unknown(&unknown, look));
    }
}

fn defrag(global: &GlobalArgs, args: &DefragArgs) -> Result<ExitCode> {
    let wanted = fleet_requests::parse(&args.wanted)?;
    let source = fleet_source::read(global, &args.fleet.hosts)?;
    let (found, cut_short) = args.fleet.bounded(|bound| {
        let anywhere = Allowed::default();
        let found = make_room(&source.fleet, &source.residents, &wanted, &anywhere, bound);
        (found, bound.is_reached())
    });
    let look = output::look(false);
    let Room { moves, place, is_fewest } = match found {
        Ok(room) => room,
        Err(no) => {
            let stands = stands_when_empty(&source.fleet, &wanted, &Allowed::default());
            let stands = stands.into_iter().map(fleet_report::stands).collect();
            output::remark(&text::fleet_no_room(no.is_certain, cut_short, &stands, &look));
            return Ok(ExitCode::from(REFUSED));
        }
    };
    let Choice { host, fit, held, rank, is_best } = place;
    let placed = Placed { host, fit, held, rank, is_best };
    let asked = args.wanted.as_str();
    let doc = FleetMovesDoc::new(
        moves.iter().map(|step| move_doc(&source, step)).collect(),
        is_fewest,
        Some(place_doc(&source, asked, &placed)),
    );
    args.fleet.write(&doc.to_json())?;
    if global.json {
        output::print(&doc.to_json())?;
        return Ok(ExitCode::SUCCESS);
    }
    let rows: Vec<_> = moves.iter().map(|step| move_row(&source, step)).collect();
    output::print(&text::fleet_moves(&rows, &look))?;
    if !rows.is_empty() {
        output::print(&text::fleet_room(rows.len(), is_fewest))?;
    }
    output::print(&text::fleet_places(&[place_row(&source, asked, &placed)], &look))?;
    let given = moves.iter().map(|step| (step.to, &step.held));
    say_memory_unknown(&source, given.chain([(placed.host, &placed.held)]), &look);
    Ok(ExitCode::SUCCESS)
}

fn empty(global: &GlobalArgs, args: &EvacuateArgs) -> Result<ExitCode> {
    let source = fleet_source::read(global, &args.fleet.hosts)?;
    let Some(host) = source.fleet.host_of(&HostId(args.host.clone())) else {
        let known: Vec<&str> =
            (0..source.fleet.len()).map(|host| source.fleet.id(host).0.as_str()).collect();
        let (name, dir) = (&args.host, args.fleet.hosts.display());
        let text = format!("there is no host '{name}' in {dir}; there are: {}", known.join(", "));
        return Err(coded(USAGE, text));
    };
    let look = output::look(false);
    let (found, cut_short) = args.fleet.bounded(|bound| {
        let found = evacuate(&source.fleet, &source.residents, host, bound);
        (found, bound.is_reached())
    });
    let stay: Vec<&Staying> = source.staying.iter().filter(|guest| guest.host == host).collect();
    let moves = match found {
        Ok(moves) if stay.is_empty() => moves,
        found => {
            let rows = not_emptied(&source, host, found.err(), cut_short);
            let stays = stay.iter().map(|guest| stay_doc(&source, guest)).collect();
            let docs = rows.iter().map(refusal_doc).collect();
            let doc = FleetMovesDoc::refused(stays, docs, cut_short).to_json();
            args.fleet.write(&doc)?;
            if global.json {
                output::print(&doc)?;
                return Ok(ExitCode::from(REFUSED));
            }
            for guest in stay {
                let why = fleet_report::stays(&guest.why);
                output::remark(&text::fleet_stays(&guest.name, &args.host, &why, &look));
            }
            if !rows.is_empty() {
                output::remark(&text::fleet_refusals(&grouped(&rows), &look));
            }
            return Ok(ExitCode::from(REFUSED));
        }
    };
    let docs = moves.iter().map(|step| move_doc(&source, step)).collect();
    let doc = FleetMovesDoc::new(docs, true, None);
    args.fleet.write(&doc.to_json())?;
    if global.json {
        output::print(&doc.to_json())?;
        return Ok(ExitCode::SUCCESS);
    }
    let rows: Vec<_> = moves.iter().map(|step| move_row(&source, step)).collect();
    output::print(&text::fleet_moves(&rows, &look))?;
    say_memory_unknown(&source, moves.iter().map(|step| (step.to, &step.held)), &look);
    Ok(ExitCode::SUCCESS)
}

/// Guests of a host for which no other place was found.
fn not_emptied(
    source: &FleetSource,
    host: usize,
    no: Option<NotPlaced>,
    cut_short: bool,
) -> Vec<FleetRefusal> {
    let Some(no) = no else { return Vec::new() };
    let mut elsewhere = Allowed::default();
    elsewhere.forbid(host);
    let movable = source.movable();
    let scope = Scope { without: Some(host), movable: Some(&movable) };
    let certain = no.is_certain && !cut_short;
    let refused = Refused { certain, cut_short, beside_others: false };
    let row = |guest: &usize| {
        let wanted = source.residents[*guest].wanted.clone();
        let item = Item { wanted, groups: Vec::new() };
        let asked = Asked { name: source.names[*guest].clone(), item };
        refusal_row(&source.fleet, &asked, &elsewhere, scope, refused)
    };
    no.items.iter().map(row).collect()
}

impl PlanArgs {
    fn how(&self) -> How {
        match (self.most, self.in_order) {
            (true, _) => How::Most,
            (_, true) => How::InOrder,
            _ => How::AllOrNothing,
        }
    }
}

impl FleetArgs {
    fn bounded<T>(&self, search: impl FnOnce(&mut Bound) -> T) -> T {
        let end = self.deadline.map(|deadline| Instant::now() + deadline);
        let mut is_over = || end.is_some_and(|end| Instant::now() >= end);
        search(&mut Bound::new(self.steps, &mut is_over))
    }

    fn write(&self, json: &str) -> Result<()> {
        match &self.out {
            Some(out) => private_file::write(out, json),
            None => Ok(()),
        }
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    let wanted = "a whole number of ms, s or min is wanted, like 500ms";
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(split);
    let number: u64 = digits.parse().map_err(|_| format!("'{text}': {wanted}"))?;
    match unit.trim() {
        "ms" => Ok(Duration::from_millis(number)),
        "s" => Ok(Duration::from_secs(number)),
        "min" => Ok(Duration::from_secs(number.saturating_mul(60))),
        _ => Err(format!("'{text}': {wanted}")),
    }
}
