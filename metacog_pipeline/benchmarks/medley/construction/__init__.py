"""How a set of instances is made, or checked where it is given: disagreement, consensus, verification, panels, gates."""
