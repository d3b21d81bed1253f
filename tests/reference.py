"""The paper's equations, literally: loops over points and listed outputs, no algebra, no shared code.

Nothing here is imported from sslsop_core. Equation numbers count the paper's displayed equations. A
"space" is a pair of functions Phi(x, y), Delta(y, y') and a function listing all outputs for an input.
`share[i][r]` stands for the paper's 1/k; y = None marks an output that is not known (yet).
"""

import itertools

import numpy as np

# --- joint features and losses of section 3.1 ---------------------------------------------------------


def class_phi(names):
    def phi(x, y):
        return np.concatenate([x * (name == y) for name in names]).reshape(len(names), -1).T.ravel()

    return phi


def tree_nodes(parents):
    nodes = []
    for child, parent in parents.items():
        nodes += [node for node in (child, parent) if node not in nodes]
    return nodes


def ancestors(parents, node):
    found = [node]
    while found[-1] in parents:
        found.append(parents[found[-1]])
    return found


def height(parents, node):
    below = [child for child, parent in parents.items() if parent == node]
    return 0 if not below else 1 + max(height(parents, child) for child in below)


def tree_phi(parents, nodes):
    def phi(x, y):
        marks = np.array([float(node in ancestors(parents, y)) for node in nodes])
        return np.outer(x, marks).ravel()

    return phi


def tree_loss(parents):
    def loss(y, other):
        common = [node for node in ancestors(parents, y) if node in ancestors(parents, other)]
        return float(height(parents, common[0]))

    return loss


def sequence_phi(tags, weight=1.0):
    """Transitions count with this weight in inner products, so with its root in the feature."""

    def phi(x, y):
        emissions = np.zeros((x.shape[1], len(tags)))
        transitions = np.zeros((len(tags), len(tags)))
        for t in range(len(y)):
            emissions[:, tags.index(y[t])] += x[t]
            if t > 0:
                transitions[tags.index(y[t - 1]), tags.index(y[t])] += 1
        return np.concatenate([emissions.ravel(), np.sqrt(weight) * transitions.ravel()])

    return phi


def set_phi(x, y):
    return np.outer(x, y).ravel()


def zero_one(y, other):
    return float(y != other)


def hamming(y, other):
    return sum(a != b for a, b in zip(y, other, strict=True)) / len(y)


def all_tuples(values, length):
    return list(itertools.product(values, repeat=length))


# --- the equations ------------------------------------------------------------------------------------


def predict_one(phi, outputs, w, x):  # eq. 2
    return max(outputs, key=lambda y: w @ phi(x, y))


def bracket(phi, delta, w, x, y, other):  # the bracket of eqs. 5-9
    return w @ (phi(x, other) - phi(x, y)) + delta(y, other)


def z_star(phi, delta, outputs, w, x, y):  # eq. 7
    return max(outputs, key=lambda other: bracket(phi, delta, w, x, y, other))


def bound(phi, delta, outputs, w, x, y):  # eq. 6
    return max(bracket(phi, delta, w, x, y, other) for other in outputs)


def normalised(share_i, N_i, Y):
    """Shares of the known neighbors, summing to 1: the paper's 1/k when all are known."""
    known = sum(share_i[r] for r, j in enumerate(N_i) if Y[j] is not None)
    return [share_i[r] / known if Y[j] is not None else 0.0 for r, j in enumerate(N_i)]


def objective(phi, delta, outputs_of, W, X, Y, neighbors, share, C, W0=None):  # eq. 9
    total = 0.0
    for i, N_i in enumerate(neighbors):
        weights = normalised(share[i], N_i, Y)
        for weight, j in zip(weights, N_i, strict=True):
            if Y[j] is not None:
                total += weight * bound(phi, delta, outputs_of(X[j]), W[i], X[j], Y[j])
        centre = 0.0 if W0 is None else W0
        total += C / 2 * np.sum((W[i] - centre) ** 2)
    return total


def w_next(phi, w, X, Y, z, N_i, share_i, C, eta, w0=0.0):  # eqs. 11 and 12
    weights = normalised(share_i, N_i, Y)
    gradient = C * (w - w0)
    for weight, j, z_j in zip(weights, N_i, z, strict=True):
        if Y[j] is not None:
            gradient = gradient + weight * (phi(X[j], z_j) - phi(X[j], Y[j]))
    return w - eta * gradient


def voters_of(i, neighbors, Y_old):
    """Pairs (i', r) with neighbors[i'][r] = i, for neighborhoods that know something."""
    return [
        (other, r)
        for other, N in enumerate(neighbors)
        for r, j in enumerate(N)
        if j == i and any(Y_old[m] is not None for m in N)
    ]


def cost_paper(phi, delta, W, x, voters, z, share, y):  # the sum of eq. 16
    total = 0.0
    for i, r in voters:
        total -= share[i][r] * (W[i] @ phi(x, y))
        if z[i][r] is not None:
            total += share[i][r] * delta(y, z[i][r])
    return total


def output_paper(phi, delta, allowed, W, x, voters, z, share):  # eq. 16
    return min(allowed, key=lambda y: cost_paper(phi, delta, W, x, voters, z, share, y))


def cost_exact(phi, delta, outputs, W, x, voters, share, y):
    """The part of eq. 9 that depends on one output, at fixed predictors."""
    return sum(share[i][r] * bound(phi, delta, outputs, W[i], x, y) for i, r in voters)


def output_exact(phi, delta, outputs, allowed, W, x, voters, share):
    return min(allowed, key=lambda y: cost_exact(phi, delta, outputs, W, x, voters, share, y))


def predict_new(phi, outputs, W, x, nearest, share):  # eq. 21
    return max(
        outputs, key=lambda y: sum(s * (W[i] @ phi(x, y)) for i, s in zip(nearest, share, strict=True))
    )
