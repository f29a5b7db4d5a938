//! Faults of the disk and power cuts, which the whole audit log must survive.

mod faults;
mod power_cut;
