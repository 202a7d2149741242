//! Claims and the ledger as they are written.

use crate::error::{DocumentError, VERSION, compact, read};
use crate::wire::{Wire, wire};
use numawise_model::{
    Claim, ClaimId, CpuSet, GuestUuid, Ledger, Mode, Owner, PageCounts, Purpose, Source,
};
use serde::{Deserialize, Serialize};

pub const LEDGER_SCHEMA: &str = "numawise.ledger";

wire! {
    /// One claim. `pages` counts by node, then by page size in bytes.
    struct ClaimDoc = Claim {
        id: ClaimId,
        owner: Owner,
        cpus: CpuSet,
        mode: Mode,
        purpose: Purpose,
        pages: PageCounts,
        source: Source,
    }
}

wire! {
    #[serde(tag = "kind")]
    enum OwnerDoc = Owner {
        Guest { uuid: GuestUuid, name: String },
        Process { name: String },
        Irq { device: String },
        Reserved,
    }
}

wire! { enum ModeDoc = Mode { Exclusive, Shared } }
wire! { enum PurposeDoc = Purpose { Vcpus, Helpers, Interrupts, Housekeeping } }
wire! { enum SourceDoc = Source { Numawise, Observed } }

/// The claims of one host, in the order they were made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LedgerDoc {
    pub schema: String,
    pub version: u32,
    pub claims: Vec<ClaimDoc>,
}

impl Wire for Ledger {
    type Doc = LedgerDoc;
    fn to_doc(&self) -> LedgerDoc {
        LedgerDoc {
            schema: LEDGER_SCHEMA.to_owned(),
            version: VERSION,
            claims: self.claims.to_doc(),
        }
    }
    fn from_doc(doc: LedgerDoc) -> Self {
        Self { claims: Wire::from_doc(doc.claims) }
    }
}

pub fn ledger_to_json(ledger: &Ledger) -> String {
    compact(&ledger.to_doc())
}

pub fn parse_ledger(text: &str) -> Result<Ledger, DocumentError> {
    read::<LedgerDoc>(text, LEDGER_SCHEMA).map(Ledger::from_doc)
}
