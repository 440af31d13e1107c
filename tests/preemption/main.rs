//! Preemption: rounds, published tables of cases, the thread with its clock, many clusters.

mod cases;
mod clusters;
mod gangs;
mod other_type;
mod periodic;
mod rounds;
