//! Tests of the tree that need no guest.
