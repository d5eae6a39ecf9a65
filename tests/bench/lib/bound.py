"""The physical bound: what the slowest wire takes to carry what it must."""

from . import regimes


def bound(variant, nodes, size):
    """Seconds by wire; the bound is the largest. `size` is the model's bytes."""
    bits = size * 8 / 1e6
    down = regimes.downloaders(variant, nodes)
    held = regimes.holders(variant, nodes)
    from_store = not variant.local and held == 0
    terms = {}
    if from_store:
        terms["source"] = bits / variant.egress
        terms["storage"] = bits / sum(
            regimes.rate_of(variant, k, "storage") for k in range(down))
    if nodes > 1:
        # A node that downloads its share receives the rest; one that downloads nothing receives all
        # (and where there is one root, that one sends all).
        share = (nodes - 1) / nodes if from_store and down == nodes else 1
        terms["fabric"] = bits * share / (variant.fabric * variant.rails)
    if variant.disk is not None:
        terms["disk"] = bits / min(
            regimes.rate_of(variant, k, "disk") for k in range(held, nodes))
    return terms


def on_the_wire(terms, overhead):
    """The bound with what TCP/IP headers take of each link; `overhead` by term, as a share."""
    return max(seconds * (1 + overhead.get(name, 0)) for name, seconds in terms.items())
