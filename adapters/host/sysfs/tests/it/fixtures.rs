//! The hosts in `fixtures/hosts`: each is as it was written, and reads as its README says.
