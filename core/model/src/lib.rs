//! The values that numawise is about, and nothing else: no I/O, no clock, no threads, no serialising.
//!
//! Read in this order: [`ids`] and [`id_set`] (the typed numbers and their sets), [`topology`] and
//! [`levels`] (what a host is, how it stands now), [`ledger`] (what is given away), [`guest`] (what a
//! domain's XML says), [`request`] (what is asked for), [`plan`] (the answer), [`finding`],
//! [`refusal`], [`reason`] and [`event`] (what there is to say; `render` turns them into sentences).
//! [`audit_rule`], [`surroundings`] and [`audited`] are what an audit of a whole host is made of.
//! [`tuning`] is by itself: how a host is prepared before any guest is placed.

pub mod audit_rule;
pub mod audited;
pub mod checkup;
pub mod database;
pub mod event;
pub mod finding;
pub mod guest;
pub mod id_set;
pub mod ids;
pub mod ledger;
pub mod levels;
pub mod list_text;
pub mod migration;
pub mod observed;
pub mod obstacle;
pub mod placement;
pub mod plan;
pub mod process;
pub mod reason;
pub mod refusal;
pub mod request;
pub mod surroundings;
pub mod topology;
pub mod tuning;

pub use audit_rule::AuditRule;
pub use audited::{Audit, NotLookedAt};
pub use checkup::{Check, CheckKind, Verdict};
pub use event::Event;
pub use finding::{Finding, FindingKind, Severity, Subject};
pub use guest::{
    FrozenTopology, GuestConfig, GuestCpuTopology, GuestEdit, GuestFix, GuestUuid, PinEdit, Pins,
    VnumaEdit,
};
pub use id_set::{CpuSet, IdSet, MAX_ID, NodeSet, VcpuSet};
pub use ids::{CoreId, Id, L3Id, PackageId, Pcpu, Pnode, Vcpu, Vnode};
pub use ledger::{Claim, ClaimId, Ledger, Mode, Owner, Purpose, Source};
pub use levels::{HugepageLevels, Levels, NodeLevels, PageCounts, PageSize, Utilisation};
pub use list_text::{ListError, ListErrorKind, Rule, parse_list, parse_mask, parse_rule};
pub use migration::{MoveProgress, MoveRefusal};
pub use observed::{GuestFacts, Sight, Unseen};
pub use obstacle::{ForeignOwner, Manager, Obstacle};
pub use placement::{Best, L3Policy, Proof, Score, SmtPolicy};
pub use plan::{
    Binding, Change, ChangedPart, Effect, GuestRef, HelperPlacement, HostId, HostRef, MemoryMode,
    Plan, PlanId, Predicate, VirtualTopology, VnumaNode,
};
pub use process::{MappingFacts, MappingPolicy, ThreadFacts};
pub use reason::Reason;
pub use refusal::Refusal;
pub use request::{BindRule, CpuPools, Policy, Request};
pub use surroundings::{Interrupt, KernelFact, KernelThread, Ksm, Surroundings, Unread};
pub use topology::{
    Allowed, Core, DeviceKind, Host, Hypervisor, L3Domain, Locality, Node, Package, PciDevice,
    Topology,
};
pub use tuning::{
    ChangeKind, Expectation, HostSettings, Isolation, Moment, PathState, Place, Setting, Switch,
    TuningChange, TuningEntry, TuningFinding, TuningOperation, TuningPlan, TuningReason,
    TuningRecord, TuningRefusal, TuningRequest,
};
