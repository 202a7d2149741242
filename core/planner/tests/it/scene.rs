//! A host, a guest and a request to start from, each test bending what it is about; and plans as a
//! few lines of text, so that what is expected can stand next to the input.

use numawise_model::guest::{Balloon, SmpCacheAbility};
use numawise_model::plan::HeldPages;
use numawise_model::{
    BindRule, Claim, ClaimId, CpuPools, CpuSet, FindingKind, FrozenTopology, GuestConfig, GuestRef,
    GuestUuid, Host, HostId, HostRef, Ledger, MemoryMode, Mode, Owner, PageCounts, PageSize, Plan,
    PlanId, Pnode, Policy, Purpose, Refusal, Request, Source, Vcpu, VcpuSet, parse_list,
    parse_rule,
};
use numawise_planner::{Inputs, Stamp, plan};
use std::fmt::Write;

pub const GIB: u64 = 1 << 30;

pub struct Scene {
    pub host: Host,
    pub ledger: Ledger,
    pub pools: CpuPools,
    pub guest: Option<GuestConfig>,
    pub live: Option<GuestConfig>,
    pub frozen: Option<FrozenTopology>,
    pub held: HeldPages,
    pub smp_cache: Option<SmpCacheAbility>,
    pub request: Request,
}

impl Scene {
    /// `smart` with vNUMA on base pages, for a guest that is fit for it.
    pub fn new(host: Host, vcpus: u32, memory_bytes: u64) -> Self {
        let guest = GuestConfig {
            name: "db".to_owned(),
            uuid: Some(uuid("db")),
            vcpus_max: vcpus,
            vcpus_current: vcpus,
            memory_bytes,
            current_memory_bytes: memory_bytes,
            balloon: Balloon::Off,
            ..GuestConfig::default()
        };
        let request = Request {
            vcpus,
            memory_bytes,
            page_size: PageSize::BASE_4K,
            policy: Policy::Smart,
            shared: false,
            overcommit: false,
            vnuma: true,
            cells_per_node: 1,
            max_sockets: None,
            memory_mode: MemoryMode::Strict,
            new_topology: false,
            fix_guest: false,
            memory_only: None,
            guest_cache: None,
        };
        Self {
            host,
            ledger: Ledger::default(),
            pools: CpuPools::default(),
            guest: Some(guest),
            live: None,
            frozen: None,
            held: HeldPages::new(),
            smp_cache: None,
            request,
        }
    }

    /// With rules as they are typed: `0-15:32-47`.
    pub fn rules(host: Host, vcpus: u32, rules: &[&str]) -> Self {
        let mut scene = Self::new(host, vcpus, GIB);
        let rule = |text: &&str| {
            let (vcpus, pcpus) = text.split_once(':').expect("a rule has a colon");
            BindRule {
                vcpus: parse_rule(vcpus).expect("vCPUs of the test").set,
                pcpus: parse_rule(pcpus).expect("pCPUs of the test").set,
            }
        };
        scene.request.policy = Policy::Rules(rules.iter().map(rule).collect());
        scene
    }

    pub fn on_node(host: Host, vcpus: u32, nodes: &[(u32, &str)]) -> Self {
        let mut scene = Self::new(host, vcpus, GIB);
        let named = nodes.iter().map(|(node, list)| (Pnode(*node), vcpus_of(list)));
        scene.request.policy = Policy::OnNode(named.collect());
        scene
    }

    pub fn plan(&self) -> Result<Plan, Vec<Refusal>> {
        let guest = self.guest.as_ref();
        let inputs = Inputs {
            host: &self.host,
            ledger: &self.ledger,
            pools: &self.pools,
            guest,
            live: self.live.as_ref(),
            cpu_before: guest.and_then(|guest| guest.cpu_topology),
            frozen: self.frozen.as_ref(),
            held: &self.held,
            smp_cache: self.smp_cache.as_ref(),
            stamp: Stamp {
                plan: PlanId("plan".to_owned()),
                claims: [ClaimId("vcpus".to_owned()), ClaimId("helpers".to_owned())],
                host: HostRef { id: HostId("host".to_owned()), topology_digest: "t".to_owned() },
                guest: guest.and_then(|guest| {
                    let uuid = guest.uuid.clone()?;
                    Some(GuestRef { name: guest.name.clone(), uuid, digest: "g".to_owned() })
                }),
                frozen_digest: self.frozen.as_ref().map(|_| "f".to_owned()),
            },
        };
        plan(&inputs, &self.request)
    }

    /// The plan, where there must be one.
    pub fn planned(&self) -> Plan {
        self.plan().unwrap_or_else(|refusals| panic!("refused: {refusals:#?}"))
    }

    pub fn refused(&self) -> Vec<Refusal> {
        self.plan().err().unwrap_or_else(|| panic!("planned: {}", shown(&self.planned())))
    }

    pub fn held_by(&mut self, name: &str, list: &str, mode: Mode) -> &mut Self {
        self.claim(name, list, mode, PageCounts::new())
    }

    pub fn claim(&mut self, name: &str, list: &str, mode: Mode, pages: PageCounts) -> &mut Self {
        self.ledger.claims.push(Claim {
            id: ClaimId(format!("{name} {list}")),
            owner: owner(name),
            cpus: cpus(list),
            mode,
            purpose: Purpose::Vcpus,
            pages,
            source: Source::Numawise,
        });
        self
    }
}

pub fn uuid(name: &str) -> GuestUuid {
    GuestUuid(format!("00000000-0000-4000-8000-{name:0>12}"))
}

pub fn owner(name: &str) -> Owner {
    Owner::Guest { uuid: uuid(name), name: name.to_owned() }
}

pub fn cpus(list: &str) -> CpuSet {
    parse_list(list).expect("CPUs of the test")
}

pub fn vcpus_of(list: &str) -> VcpuSet {
    parse_list(list).expect("vCPUs of the test")
}

pub fn pages(node: u32, size: PageSize, pages: u64) -> PageCounts {
    PageCounts::from([(Pnode(node), [(size, pages)].into())])
}

pub fn kinds(plan: &Plan) -> Vec<FindingKind> {
    plan.findings.iter().map(|finding| finding.kind.clone()).collect()
}

/// Binding, nodes and topology of a plan:
///
/// ```text
/// 0-31:32-63 32-47:0-15
/// vnode 0: vcpus 0-31, 128 GiB on node 1, distances 10 21
/// cpu: 3 sockets x 1 dies x 16 cores x 1 threads, L3 shown
/// ```
///
/// Neighbouring vCPUs on neighbouring pCPUs are one item of the first line.
pub fn shown(plan: &Plan) -> String {
    let mut text = pins(plan);
    let Some(vnuma) = &plan.vnuma else { return text };
    for node in &vnuma.nodes {
        let distances: Vec<String> = node.distances.values().map(u32::to_string).collect();
        let memory = match node.memory_bytes {
            bytes if bytes % GIB == 0 => format!("{} GiB", bytes / GIB),
            bytes => format!("{bytes} bytes"),
        };
        let place = match node.host_node() == node.memory_node() {
            true => node.host_node().to_string(),
            false => format!("{} (vCPUs on {})", node.memory_node(), node.host_node()),
        };
        let (id, vcpus, distances) = (node.id, &node.vcpus, distances.join(" "));
        write!(
            text,
            "\nvnode {id}: vcpus {vcpus}, {memory} on node {place}, distances {distances}"
        )
        .expect("strings take all that is written");
    }
    let cpu = vnuma.cpu;
    let l3 = if vnuma.emulate_l3 { ", L3 shown" } else { "" };
    assert_eq!(cpu.clusters, 1);
    let (sockets, dies, cores, threads) = (cpu.sockets, cpu.dies, cpu.cores, cpu.threads);
    text +=
        &format!("\ncpu: {sockets} sockets x {dies} dies x {cores} cores x {threads} threads{l3}");
    text
}

fn pins(plan: &Plan) -> String {
    // (first vCPU, last vCPU, first pCPU, last pCPU), or a vCPU with several pCPUs as text.
    let mut items: Vec<(Vcpu, Vcpu, CpuSet)> = Vec::new();
    for (vcpu, cpus) in &plan.binding.cpus {
        let follows = items.last().is_some_and(|(_, last, set)| {
            let next = set.last().map(|cpu| cpu.0 + 1);
            last.0 + 1 == vcpu.0 && cpus.len() == 1 && next == cpus.first().map(|cpu| cpu.0)
        });
        match items.last_mut() {
            Some((first, last, set)) if follows && span(*first, *last) == set.len() => {
                *last = *vcpu;
                set.extend(cpus);
            }
            _ => items.push((*vcpu, *vcpu, cpus.clone())),
        }
    }
    let item = |(first, last, set): &(Vcpu, Vcpu, CpuSet)| match first == last {
        true => format!("{first}:{set}"),
        false => format!("{first}-{last}:{set}"),
    };
    items.iter().map(item).collect::<Vec<_>>().join(" ")
}

fn span(first: Vcpu, last: Vcpu) -> usize {
    (last.0 - first.0 + 1) as usize
}

/// Asserts what a plan decides, line by line; indentation is the test's own.
pub fn check(scene: &Scene, expected: &str) {
    let lines: Vec<&str> = expected.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    assert_eq!(shown(&scene.planned()), lines.join("\n"));
}

/// Asserts every refusal, in order.
pub fn refuses(scene: &Scene, expected: &[Refusal]) {
    assert_eq!(scene.refused(), expected);
}
