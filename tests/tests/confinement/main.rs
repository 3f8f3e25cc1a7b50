//! Agents in their cage: hostile ones learn and change nothing, greedy ones are ended, honest ones can work.

mod attacks;
mod between_cases;
mod desk;
mod honest;
mod leaks;
mod leftovers;
mod limits;
mod neighbours;
mod network;
mod refused;
