//! Preemption: rounds, published tables of cases, the thread with its clock, many clusters.

mod cases;
mod clusters;
mod gangs;
mod periodic;
mod rounds;
