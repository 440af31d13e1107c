//! Where the passes of a recorded run began, which chance decided.

/// The first nodes of the passes that placed something, in order.
///
/// A pass that places nothing begins where the next one does that places something. Those behind the last one have
/// a first node of their own: it decides which node they come to last, and so which limits are handed out last.
#[derive(Clone, Debug, Default)]
pub(super) struct Starts {
    /// Positions among the nodes of a pass.
    chosen: Vec<usize>,
    /// The position for passes behind the last one.
    otherwise: usize,
    /// How many nodes each pass had so far.
    nodes: Vec<usize>,
    /// How many nodes the last pass had that placed nothing.
    idle: usize,
}

impl Starts {
    /// Position of the node at which the next pass begins.
    pub(super) fn next(&self) -> usize {
        let chosen = self.chosen.get(self.nodes.len());
        chosen.copied().unwrap_or(self.otherwise)
    }

    /// Runs in which all passes begin at the same position, for each position but the first.
    pub(super) fn constant(&self) -> Vec<Self> {
        let most = self.nodes.iter().copied().max().unwrap_or(0).max(self.idle);
        let one = |otherwise| Self {
            otherwise,
            ..Self::default()
        };
        (1..most).map(one).collect()
    }

    /// Notes that a pass over so many nodes placed something.
    pub(super) fn note_pass(&mut self, nodes: usize) {
        self.nodes.push(nodes);
    }

    /// Notes that a pass over so many nodes placed nothing.
    pub(super) fn note_idle(&mut self, nodes: usize) {
        self.idle = nodes;
    }

    /// How many first nodes a run has: one for each pass that placed something, and one for those behind.
    pub(super) fn count(&self) -> usize {
        self.nodes.len() + 1
    }

    /// The same run up to a pass, which begins at each of its other nodes in turn.
    pub(super) fn others(&self, pass: usize) -> Vec<Self> {
        let nodes = self.nodes.get(pass).copied().unwrap_or(self.idle);
        let mut chosen = self.chosen.clone();
        if chosen.len() <= pass {
            chosen.resize(pass + 1, self.otherwise);
        }
        let other = |ahead| {
            let mut chosen = chosen.clone();
            chosen[pass] = (chosen[pass] + ahead) % nodes;
            Self {
                chosen,
                otherwise: self.otherwise,
                ..Self::default()
            }
        };
        (1..nodes).map(other).collect()
    }
}
