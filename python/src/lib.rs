//! The Python module `capsched`: a trace played on the simulator, as data frames, and the engine itself.

mod conf;
mod engine_object;
mod requests;
mod simulate;
mod sizes;
mod tables;
mod watch;

use pyo3::prelude::*;

pyo3::create_exception!(
    capsched,
    CapschedError,
    pyo3::exceptions::PyValueError,
    "A configuration, a trace or a call was refused; nothing of it was carried out."
);

/// A refusal as an exception.
fn refusal(error: impl std::fmt::Display) -> PyErr {
    CapschedError::new_err(error.to_string().trim_end().to_owned())
}

#[pymodule]
mod capsched {
    use super::*;

    #[pymodule_export]
    use super::engine_object::Engine;
    #[pymodule_export]
    use super::simulate::{Simulation, simulate};
    #[pymodule_export]
    use super::tables::Table;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("CapschedError", module.py().get_type::<CapschedError>())
    }
}
