//! Requests as they are written.

use crate::placement::BestDoc;
use crate::wire::{IdDoc, ListDoc, Wire, wire};
use numawise_model::request::{GuestCache, MemoryOnly};
use numawise_model::{
    BindRule, CpuSet, MemoryMode, PageSize, Pnode, Policy, Request, Vcpu, VcpuSet,
};
use serde::{Deserialize, Serialize};

wire! {
    struct RequestDoc = Request {
        vcpus: u32,
        memory_bytes: u64,
        #[serde(rename = "page_size_bytes")]
        page_size: PageSize,
        policy: Policy,
        shared: bool,
        overcommit: bool,
        vnuma: bool,
        cells_per_node: u32,
        max_sockets: Option<u32>,
        memory_mode: MemoryMode,
        new_topology: bool,
        fix_guest: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        memory_only: Option<MemoryOnly>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        guest_cache: Option<GuestCache>,
    }
}

wire! { enum GuestCacheDoc = GuestCache { SmpCache, Off } }

/// `near`, `spill`, or the nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum MemoryOnlyDoc {
    Near,
    Spill,
    Nodes(ListDoc<Pnode>),
}

impl Wire for MemoryOnly {
    type Doc = MemoryOnlyDoc;
    fn to_doc(&self) -> MemoryOnlyDoc {
        match self {
            Self::Near => MemoryOnlyDoc::Near,
            Self::Spill => MemoryOnlyDoc::Spill,
            Self::Nodes(nodes) => MemoryOnlyDoc::Nodes(nodes.to_doc()),
        }
    }
    fn from_doc(doc: MemoryOnlyDoc) -> Self {
        match doc {
            MemoryOnlyDoc::Near => Self::Near,
            MemoryOnlyDoc::Spill => Self::Spill,
            MemoryOnlyDoc::Nodes(nodes) => Self::Nodes(nodes.0),
        }
    }
}

/// A policy by its name, with what was given to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum PolicyDoc {
    Smart,
    OnNode { nodes: Vec<OnNodeDoc> },
    Best(BestDoc),
    Rules { rules: Vec<BindRuleDoc> },
    Unbound,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OnNodeDoc {
    pub node: IdDoc<Pnode>,
    pub vcpus: ListDoc<Vcpu>,
}

wire! { struct BindRuleDoc = BindRule { vcpus: VcpuSet, pcpus: CpuSet } }

impl Wire for Policy {
    type Doc = PolicyDoc;
    fn to_doc(&self) -> PolicyDoc {
        match self {
            Self::Smart => PolicyDoc::Smart,
            Self::OnNode(nodes) => PolicyDoc::OnNode {
                nodes: nodes
                    .iter()
                    .map(|(node, vcpus)| OnNodeDoc { node: node.to_doc(), vcpus: vcpus.to_doc() })
                    .collect(),
            },
            Self::Best(best) => PolicyDoc::Best(best.to_doc()),
            Self::Rules(rules) => PolicyDoc::Rules { rules: rules.to_doc() },
            Self::Unbound => PolicyDoc::Unbound,
        }
    }
    fn from_doc(doc: PolicyDoc) -> Self {
        match doc {
            PolicyDoc::Smart => Self::Smart,
            PolicyDoc::OnNode { nodes } => {
                Self::OnNode(nodes.into_iter().map(|n| (n.node.0, n.vcpus.0)).collect())
            }
            PolicyDoc::Best(best) => Self::Best(Wire::from_doc(best)),
            PolicyDoc::Rules { rules } => Self::Rules(Wire::from_doc(rules)),
            PolicyDoc::Unbound => Self::Unbound,
        }
    }
}
