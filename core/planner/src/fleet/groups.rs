//! Rules that tie requests together, and the hosts they leave.

use super::Fleet;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Group {
    pub rule: GroupRule,
    pub name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GroupRule {
    /// No two on one host.
    Apart,
    /// All on one host.
    Together,
    /// No two in one rack. A host whose rack is not known takes none.
    PerRack,
}

/// Where the members of each group are.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    hosts: BTreeMap<Group, Vec<usize>>,
}

/// Which hosts a request may have.
#[derive(Clone, Debug, Default)]
pub struct Allowed {
    /// Where it must be; empty intersections are possible.
    only: Option<usize>,
    never: bool,
    not: BTreeSet<usize>,
    racks_taken: BTreeSet<u32>,
    needs_rack: bool,
}

impl Groups {
    pub fn add(&mut self, groups: &[Group], host: usize) {
        for group in groups {
            self.hosts.entry(group.clone()).or_default().push(host);
        }
    }

    pub fn remove(&mut self, groups: &[Group], host: usize) {
        for group in groups {
            if let Some(hosts) = self.hosts.get_mut(group)
                && let Some(at) = hosts.iter().position(|known| *known == host)
            {
                hosts.swap_remove(at);
            }
        }
    }

    /// Requests of groups that have more members than there are hosts, or racks, for them.
    pub fn too_many(&self, fleet: &Fleet, base: &Allowed, items: &[&[Group]]) -> Vec<usize> {
        let hosts = || (0..fleet.len()).filter(|host| base.allows(fleet, *host));
        let racks: BTreeSet<u32> = hosts().filter_map(|host| fleet.hosts[host].rack).collect();
        let mut members: BTreeMap<&Group, Vec<usize>> = BTreeMap::new();
        for (item, groups) in items.iter().enumerate() {
            groups.iter().for_each(|group| members.entry(group).or_default().push(item));
        }
        let is_too_many = |group: &Group, members: usize| {
            let all = members + self.hosts.get(group).map_or(0, Vec::len);
            match group.rule {
                GroupRule::Apart => all > hosts().count(),
                GroupRule::PerRack => all > racks.len(),
                GroupRule::Together => false,
            }
        };
        members.retain(|group, members| is_too_many(group, members.len()));
        members.into_values().flatten().collect::<BTreeSet<usize>>().into_iter().collect()
    }

    pub fn allowed(&self, fleet: &Fleet, groups: &[Group]) -> Allowed {
        let mut allowed = Allowed::default();
        for group in groups {
            let hosts = self.hosts.get(group).map_or(&[][..], Vec::as_slice);
            match group.rule {
                GroupRule::Apart => allowed.not.extend(hosts),
                GroupRule::Together => {
                    if let Some(host) = hosts.first() {
                        allowed.restrict(*host);
                    }
                }
                GroupRule::PerRack => {
                    allowed.needs_rack = true;
                    let racks = hosts.iter().filter_map(|host| fleet.hosts[*host].rack);
                    allowed.racks_taken.extend(racks);
                }
            }
        }
        allowed
    }
}

impl Allowed {
    /// On this host and nowhere else.
    pub fn restrict(&mut self, host: usize) {
        self.never |= self.only.is_some_and(|only| only != host);
        self.only = Some(host);
    }

    /// What both allow.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        if let Some(only) = other.only {
            self.restrict(only);
        }
        self.never |= other.never;
        self.not.extend(&other.not);
        self.racks_taken.extend(&other.racks_taken);
        self.needs_rack |= other.needs_rack;
        self
    }

    pub fn forbid(&mut self, host: usize) {
        self.not.insert(host);
    }

    /// The only host there is, when there is only one to ask: `Some(None)` when not even that.
    pub fn single(&self, fleet: &Fleet) -> Option<Option<usize>> {
        let only = self.only?;
        Some(Some(only).filter(|host| self.allows(fleet, *host)))
    }

    /// The rule is by rack, and it is not known in which the host stands.
    pub fn lacks_rack(&self, fleet: &Fleet, host: usize) -> bool {
        self.needs_rack && fleet.hosts[host].rack.is_none()
    }

    pub fn allows(&self, fleet: &Fleet, host: usize) -> bool {
        let rack = fleet.hosts[host].rack;
        !self.never
            && self.only.is_none_or(|only| only == host)
            && !self.not.contains(&host)
            && (!self.needs_rack || rack.is_some_and(|rack| !self.racks_taken.contains(&rack)))
    }
}
