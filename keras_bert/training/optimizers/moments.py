"""Adam's moments."""


def advance_moments(m, v, gradient, beta_1, beta_2):
    """Returns the means of the gradients and of their squares, one step on."""
    m = m + (gradient - m) * (1 - beta_1)
    v = v + (gradient * gradient - v) * (1 - beta_2)
    return m, v
