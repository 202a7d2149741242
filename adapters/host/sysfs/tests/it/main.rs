//! The reader against real machines' files, synthetic shapes, and nonsense.

mod captures;
mod corpus;
mod disturbed;
mod fixtures;
mod guests_cgroup;
mod hostile;
mod scene;
mod shapes;
mod surroundings;
mod xml;
