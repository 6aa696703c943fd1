"""What a step returns besides states."""

import numpy as np


class Output(np.ndarray):
    """An array on the host, with what scripts ask of those of jax."""

    def block_until_ready(self) -> "Output":
        """At once: steps are awaited."""
        return self

    def __repr__(self) -> str:
        return repr(self.view(np.ndarray))
