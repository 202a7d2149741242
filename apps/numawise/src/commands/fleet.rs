//! `numawise fleet`: places for many guests on many hosts, room for a large one, an empty host. All of
//! it is planned only.

use crate::config::GlobalArgs;
use crate::failure::{REFUSED, USAGE, coded};
use crate::fleet_report::{move_doc, move_row, place_doc, place_row, refusal_doc, refusal_row};
use crate::fleet_requests::{self, Asked};
use crate::fleet_source::{self, FleetSource};
use crate::{output, private_file};
use anyhow::Result;
use clap::{Args, Subcommand};
use numawise_documents::fleet::{FleetMovesDoc, FleetPlanDoc};
use numawise_model::HostId;
use numawise_planner::fleet::groups::{Allowed, Groups};
use numawise_planner::fleet::{
    Batch, Bound, Fleet, Group, Held, Item, NotPlaced, Placed, Room, choose, evacuate, make_room,
    place_all, place_most,
};
use numawise_render::text;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

#[derive(Subcommand)]
pub enum FleetCommand {
    /// Find places for many guests: all of them, or none.
    Plan(PlanArgs),
    /// Find the fewest moves of guests that make room for one.
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
    /// Stop after so long with the best answer so far, like 500ms or 2s.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    deadline: Option<Duration>,
    /// Stop after so many questions to the search on one host.
    #[arg(long, value_name = "N", default_value_t = 200_000)]
    steps: u32,
    /// Write the document here as well.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// A request is a JSON object a line, or a [[request]] in a file that ends in .toml: vcpus, memory
/// ("128G"), and where they are wanted name, page-size, l3 (compact, spread, a number), smt, split
/// (even-first, even, uneven), vnodes, count, and the groups apart (different hosts), together (one
/// host), per-rack (different racks).
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
    let answer = args.fleet.bounded(|bound| place(args, &source, &items, bound));
    let Answer { batch, missing, view, groups, is_certain } = &answer;
    let placed = || asked.iter().zip(&batch.placed).filter_map(|(a, p)| Some((a, p.as_ref()?)));
    let refusals: Vec<_> = missing
        .iter()
        .map(|item| {
            let allowed = groups.allowed(view, &items[*item].groups);
            refusal_row(view, &asked[*item], &allowed, *is_certain)
        })
        .collect();
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
    if !refusals.is_empty() {
        output::remark(&text::fleet_refusals(&refusals, &look));
        if rows.is_empty() && !args.most && !args.in_order {
            let others = asked.len() - refusals.len();
            output::remark(&text::fleet_all_or_nothing(others, refusals.len()));
        }
    }
    Ok(code)
}

/// What is placed and what is not, and the fleet in which it has no place.
struct Answer {
    batch: Batch,
    missing: Vec<usize>,
    is_certain: bool,
    view: Fleet,
    groups: Groups,
}

fn place(args: &PlanArgs, source: &FleetSource, items: &[Item], bound: &mut Bound) -> Answer {
    let (mut view, mut groups) = (source.fleet.clone(), Groups::default());
    if args.in_order {
        let (batch, no) = in_order(&mut view, &mut groups, items, bound);
        return Answer { batch, missing: no.items, is_certain: no.is_certain, view, groups };
    }
    let base = Allowed::default();
    let tied: Vec<&[Group]> = items.iter().map(|item| item.groups.as_slice()).collect();
    let too_many = groups.too_many(&view, &base, &tied);
    let all = (!args.most).then(|| place_all(&mut view, &mut groups, items, &base, bound));
    match all {
        Some(Ok(batch)) => Answer { batch, missing: Vec::new(), is_certain: false, view, groups },
        Some(Err(no)) if no.is_certain && too_many.is_empty() => {
            let batch = Batch { is_cut_short: bound.is_reached(), ..Batch::default() };
            Answer { batch, missing: no.items, is_certain: true, view, groups }
        }
        // Why there is no place is told beside the others having theirs.
        refused => {
            let batch = place_most(&mut view, &mut groups, items, &base, bound);
            let missing = (0..items.len()).filter(|item| batch.placed[*item].is_none()).collect();
            let batch = match refused {
                None => batch,
                Some(_) => Batch { placed: Vec::new(), ..batch },
            };
            Answer { batch, missing, is_certain: !too_many.is_empty(), view, groups }
        }
    }
}

fn in_order(
    fleet: &mut Fleet,
    groups: &mut Groups,
    items: &[Item],
    bound: &mut Bound,
) -> (Batch, NotPlaced) {
    let mut batch = Batch::default();
    let mut missing = NotPlaced { items: Vec::new(), is_certain: true };
    for (index, item) in items.iter().enumerate() {
        let allowed = groups.allowed(fleet, &item.groups);
        let placed = match choose(fleet, &item.wanted, &allowed, bound) {
            Ok(choice) => {
                let held = Held::of(&choice.fit, fleet.layout(choice.host), &item.wanted);
                fleet.take(choice.host, &held);
                groups.add(&item.groups, choice.host);
                let (host, fit, rank, is_best) =
                    (choice.host, choice.fit, choice.rank, choice.is_best);
                Some(Placed { host, fit, held, rank, is_best })
            }
            Err(no) => {
                missing.items.push(index);
                missing.is_certain &= no.is_certain;
                None
            }
        };
        batch.placed.push(placed);
    }
    batch.is_cut_short = bound.is_reached();
    (batch, missing)
}

fn defrag(global: &GlobalArgs, args: &DefragArgs) -> Result<ExitCode> {
    let wanted = fleet_requests::parse(&args.wanted)?;
    let source = fleet_source::read(global, &args.fleet.hosts)?;
    let found = args.fleet.bounded(|bound| {
        make_room(&source.fleet, &source.residents, &wanted, &Allowed::default(), bound)
    });
    let look = output::look(false);
    let Room { moves, place, is_fewest } = match found {
        Ok(room) => room,
        Err(no) => {
            output::remark(&text::fleet_no_room(no.is_certain, &look));
            return Ok(ExitCode::from(REFUSED));
        }
    };
    let held = Held::of(&place.fit, source.fleet.layout(place.host), &wanted);
    let is_best = place.is_best;
    let placed = Placed { host: place.host, fit: place.fit, held, rank: place.rank, is_best };
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
    let found = args.fleet.bounded(|bound| evacuate(&source.fleet, &source.residents, host, bound));
    let look = output::look(false);
    let moves = match found {
        Ok(moves) => moves,
        Err(no) => {
            let mut elsewhere = Allowed::default();
            elsewhere.forbid(host);
            let rows: Vec<_> = no
                .items
                .iter()
                .map(|guest| {
                    let wanted = source.residents[*guest].wanted.clone();
                    let item = Item { wanted, groups: Vec::new() };
                    let asked = Asked { name: source.names[*guest].clone(), item };
                    refusal_row(&source.fleet, &asked, &elsewhere, no.is_certain)
                })
                .collect();
            output::remark(&text::fleet_refusals(&rows, &look));
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
    Ok(ExitCode::SUCCESS)
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
