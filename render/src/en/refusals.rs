//! Why a request cannot be met. These are the sentences that people meet first, so each says which
//! constraint bound, what is free where, and what would fit, with the flag for it.

mod cpus;
mod guest;
mod memory;
mod moving;
mod place;

use super::{Said, obstacles};
use numawise_model::Refusal as R;

pub fn refusal(refusal: &R) -> Said {
    match refusal {
        R::NotEnoughCpus { wanted, free, held, reserved, overcommit_would_fit } => {
            cpus::not_enough(*wanted, free, held, reserved, *overcommit_would_fit)
        }
        R::NoPlace { vcpus, pages, page_size, nodes, held, gave_up, would_fit } => place::Nowhere {
            vcpus: *vcpus,
            pages: *pages,
            size: *page_size,
            nodes,
            held,
            gave_up: *gave_up,
            would_fit,
        }
        .said(),
        R::SplitDoesNotAddUp { parts, vcpus } => place::split(parts, *vcpus),
        R::DeviceUnknown { address } => place::device(address),
        R::NodeTooSmall { node, wanted, free, overcommit_would_fit } => {
            cpus::node_too_small(*node, *wanted, free, *overcommit_would_fit)
        }
        R::UnboundVcpus { vcpus, of } => cpus::unbound(vcpus, *of),
        R::VcpuSpansNodes { vcpu, cpus, nodes } => cpus::spans_nodes(*vcpu, cpus, nodes),
        R::VcpusOutOfRange { vcpus, guest_has } => cpus::out_of_range(vcpus, *guest_has),
        R::VcpusNamedTwice { vcpus } => cpus::named_twice(vcpus),
        R::CpusUnknown { cpus } => cpus::unknown(cpus),
        R::CpusOffline { cpus } => cpus::offline(cpus),
        R::CpusNotAllowed { cpus, limited_by, allowed } => {
            cpus::not_allowed(cpus, limited_by.as_deref(), allowed)
        }
        R::CpusInNoNode { cpus } => cpus::in_no_node(cpus),
        R::CpusTaken(conflict) => cpus::taken(conflict),
        R::CpusOutsidePool { cpus, pool, exclusive } => cpus::outside_pool(cpus, pool, *exclusive),
        R::CpusReserved { cpus } => cpus::reserved(cpus),
        R::EmptyRule { vcpus } => cpus::empty_rule(vcpus),
        R::UnknownNode { node, nodes } => cpus::unknown_node(*node, nodes),
        R::NodeWithoutCpus { node } => cpus::node_without_cpus(*node),
        R::OvercommitNotAsked { cpus, vcpus } => cpus::overcommit_not_asked(cpus, vcpus),
        R::NoVcpus => guest::no_vcpus(),
        R::TooManyVcpus { wanted, most } => guest::too_many_vcpus(*wanted, *most),
        R::PageSizeUnknown { size, known } => memory::page_size_unknown(*size, known),
        R::MemoryNotWholePages { memory_bytes, page_size, lower_bytes, higher_bytes } => {
            memory::not_whole_pages(*memory_bytes, *page_size, *lower_bytes, *higher_bytes)
        }
        R::FewerPagesThanNodes { pages, page_size, vnodes } => {
            memory::fewer_pages_than_nodes(*pages, *page_size, *vnodes)
        }
        R::NotEnoughMemory {
            node,
            page_size,
            wanted_pages,
            free_pages,
            promised_pages,
            available_pages,
        } => memory::Shortage {
            node: *node,
            size: *page_size,
            wanted: *wanted_pages,
            free: *free_pages,
            promised: *promised_pages,
            available: *available_pages,
        }
        .said(),
        R::MemoryNotAllowed { node, allowed, limited_by } => {
            memory::not_allowed(*node, allowed, limited_by.as_deref())
        }
        R::NotMemoryOnly { asked, usable } => memory::not_memory_only(asked, usable),
        R::NoMemoryAnywhere { vnode } => memory::nowhere(*vnode),
        R::VcpuHotplug { current, maximum } => guest::vcpu_hotplug(*current, *maximum),
        R::MemoryHotplug { slots } => guest::memory_hotplug(*slots),
        R::MemoryModules { modules } => guest::memory_modules(*modules),
        R::Balloon { model } => guest::balloon(model),
        R::PlacementAuto => guest::placement_auto(),
        R::TopologyFrozen { differences } => guest::topology_frozen(differences),
        R::CellsPerNode { asked, node, vcpus } => guest::cells_per_node(*asked, *node, *vcpus),
        R::MaxSockets { asked } => guest::max_sockets(*asked),
        R::OwnedByAnother(owner) => obstacles::owned_by_another(*owner),
        R::Blocked(obstacle) => obstacles::obstacle(obstacle),
        R::CannotMove(why) => moving::cannot(why),
    }
}
