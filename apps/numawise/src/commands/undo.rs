//! `numawise undo GUEST`: takes back what the last plan wrote.

use crate::commands::apply;
use crate::config::GlobalArgs;
use crate::confirm;
use crate::session::{CarryOutArgs, Session, fresh_id};
use anyhow::Result;
use clap::Args;
use numawise_engine::intent::IntentId;
use std::process::ExitCode;

/// Reverses only the elements that numawise wrote, on the XML as it is today. When one of them was
/// changed by somebody else since, it refuses and shows what it was, what was written and what is
/// there now.
#[derive(Args)]
pub struct UndoArgs {
    /// Name or UUID.
    guest: String,
    /// Show the change to the domain XML and stop.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    carry_out: CarryOutArgs,
}

pub fn run(global: &GlobalArgs, args: &UndoArgs) -> Result<ExitCode> {
    let session = Session::open(global)?;
    let engine = session.engine(Some(&args.carry_out));
    let manner = args.carry_out.manner();
    let preview = engine.preview_undo(&args.guest, manner)?;
    if !global.json || args.dry_run {
        let name = &preview.guest.name;
        let (today, after) = (&preview.today_xml, &preview.after_xml);
        apply::print_change(global, &session, name, today, after)?;
    }
    let question = format!("Undo this on {}?", preview.guest.name);
    if args.dry_run || !confirm::go_on(global.yes, &question)? {
        return Ok(ExitCode::SUCCESS);
    }
    let id = IntentId(fresh_id());
    let outcome = engine.undo(&args.guest, &id, manner)?;
    apply::report(global, &session, &outcome)
}
