//! Where the passes of a recorded run began, which chance decided.

/// The first nodes of the passes that placed something, in order.
///
/// A pass that places nothing comes to the same wherever it begins.
#[derive(Clone, Debug, Default)]
pub(super) struct Starts {
    /// Positions among the nodes of a pass; 0 for passes behind the last one.
    chosen: Vec<usize>,
    /// How many nodes each pass had so far.
    nodes: Vec<usize>,
}

impl Starts {
    /// Position of the node at which the next pass begins.
    pub(super) fn next(&self) -> usize {
        self.chosen.get(self.nodes.len()).copied().unwrap_or(0)
    }

    /// Notes that a pass over so many nodes placed something.
    pub(super) fn note_pass(&mut self, nodes: usize) {
        self.nodes.push(nodes);
    }

    /// How many passes placed something.
    pub(super) fn passes(&self) -> usize {
        self.nodes.len()
    }

    /// The same run up to a pass, which begins at each of its other nodes in turn.
    pub(super) fn others(&self, pass: usize) -> Vec<Self> {
        let nodes = self.nodes.get(pass).copied().unwrap_or(0);
        let mut chosen = self.chosen.clone();
        if chosen.len() <= pass {
            chosen.resize(pass + 1, 0);
        }
        let other = |ahead| {
            let mut chosen = chosen.clone();
            chosen[pass] = (chosen[pass] + ahead) % nodes;
            Self {
                chosen,
                nodes: Vec::new(),
            }
        };
        (1..nodes).map(other).collect()
    }
}
