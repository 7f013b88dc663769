"""The soil contact models of Krenn et al. 2008 and Krenn and Hirzinger 2009 in plain NumPy, written from the papers.

Nothing of the package is used, so that it can check the kernels of `laws=krenn2008` and `laws=krenn2009`. Equation
numbers without a year are those of 2008. What the papers leave open, and the elastic layer that carries a body at rest
(K_e -> infinity gives the papers' law), is as in docs/theory/soil.md, "The papers' own laws".
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

AXIAL = ((0, 1), (0, -1), (1, 0), (-1, 0))  # the four neighbours of a node: rows, columns
TIE = 1e-7  # [m] smaller differences of height are none
HALF_UP = 0.5 + 1e-4  # [cells] a vertex half way between two nodes belongs to the upper one
BAND = 0.005  # share of the slope limit; sweeps end once no slope exceeds the limit by more


@dataclass
class Load:
    """Forces at one contact node."""

    depth: float  # [m] z at the end of the step
    yields_at: float  # [Pa] eq. 29
    pressure: float  # [Pa]
    force: np.ndarray  # [N] (3,)
    arm: np.ndarray  # [m] (3,)


@dataclass
class KrennModel:
    """One body on one soil. Nodes are (row, column) = (y, x)."""

    Z: np.ndarray  # [m] (ny, nx)
    origin: tuple[float, float]  # [m] x, y of node (0, 0)
    dx: float  # [m]
    vertices: np.ndarray  # [m] (vertex, 3) body frame
    modulus: float  # k_c / b + k_phi
    n: float
    tan_phi: float
    tan_repose: float  # of the slope limit; the papers have tan(phi) here too
    cohesion: float  # [Pa]
    chi: float
    k_e: float  # [Pa/m]
    damping_time: float  # [s]
    h: float  # [s] step
    year: int  # 2008 or 2009
    mu: float = 0.0  # 2008, eq. 19
    m: float = 2.0  # 2009, eq. 10
    sweeps: int = 1
    vicinity: int = 9  # [nodes] around the box of the contact nodes in which soil slides
    creep: float = 1e-3  # [m/s] slip speed below which friction is regularised
    z0: np.ndarray = field(init=False)  # [m] (ny, nx)

    def __post_init__(self):
        self.Z, self.z0 = self.Z.copy(), np.zeros_like(self.Z)

    def step(self, position, A, velocity, omega) -> tuple[np.ndarray, dict[tuple[int, int], Load]]:
        """Move the soil under the body in its present pose; then the wrench, and the loads by node."""
        arms = self.vertices @ A.T  # eq. 6-8
        low = self.lowest(arms + position)
        contact = {node: v for node, v in low.items() if self.Z[node] > arms[v, 2] + position[2]}  # eq. 10
        self.displace(contact, arms, position[2], velocity, omega)
        if contact:
            self.erode(contact)
        loads = {node: self.load(node, arms[v], position[2], velocity, omega) for node, v in low.items()}
        loads = {node: load for node, load in loads.items() if load.depth > 0}
        wrench = np.zeros(6)
        for load in loads.values():  # eq. 20-22
            wrench += np.concatenate([load.force, np.cross(load.arm, load.force)])
        return wrench, loads

    def lowest(self, points) -> dict[tuple[int, int], int]:
        """Lowest vertex over each node, eq. 9; nearest node instead of (int). Of equally low ones the nearest."""
        place = (points[:, :2] - self.origin) / self.dx
        nearest = np.floor(place + HALF_UP).astype(int)
        off, z = ((place - nearest) ** 2).sum(axis=1), points[:, 2]
        low: dict[tuple[int, int], int] = {}
        near = np.flatnonzero(z < self.Z.max() + self.dx)
        for v in near[np.argsort(z[near], kind="stable")]:
            node = nearest[v, 1], nearest[v, 0]
            best = low.setdefault(node, int(v))
            if z[v] - z[best] <= TIE and off[v] < off[best]:
                low[node] = int(v)
        return low

    def normal(self, node) -> np.ndarray:
        """Area normal of the soil, eq. 12-13; |n| is the inclined area of a cell."""
        i, j = node
        tx = np.array([self.dx, 0, (self.Z[i, j + 1] - self.Z[i, j - 1]) / 2])
        ty = np.array([0, self.dx, (self.Z[i + 1, j] - self.Z[i - 1, j]) / 2])
        return np.cross(tx, ty)

    def bekker(self, z: float) -> float:
        return self.modulus * max(z, 0.0) ** self.n  # eq. 17

    def displace(self, contact, arms, height, velocity, omega) -> None:
        """Eq. 23-24; 2009, eq. 6-10."""
        border = {(i + a, j + b) for i, j in contact for a, b in AXIAL} - set(contact)
        nodes = np.array(sorted(border), float).reshape(-1, 2)
        given, sunk, share = np.zeros_like(self.Z), {}, self.chi if border else 1.0
        for node, v in contact.items():
            z = self.Z[node] - (arms[v, 2] + height)
            sunk[node] = d = max(z - self.bekker(z + self.z0[node]) / self.k_e, 0.0)
            for amount, weights in self.parts(node, nodes, velocity + np.cross(omega, arms[v])):
                if len(nodes):
                    received = (1 - share) * d * amount * weights / weights.sum()
                    np.add.at(given, tuple(nodes.astype(int).T), received)
        for node, d in sunk.items():
            given[node] -= d
        self.change(given)

    def parts(self, node, nodes, v):
        """Shares of the displaced volume, and the weights with which the border nodes take them."""
        d = (nodes - node)[:, ::-1]  # x, y
        even = 1 / (d**2).sum(axis=1)  # eq. 24; 2009, eq. 9
        if self.year == 2008 or not v @ v:
            return [(1.0, even)]
        n = self.normal(node)
        v_n = (v @ n) / (n @ n) * n
        sinkage = v_n[2] ** 2 / (v @ v)  # 2009, eq. 6
        speed = np.hypot(v[0], v[1])
        cosine = d @ v[:2] / (np.linalg.norm(d, axis=1) * speed) if speed else np.zeros(len(d))
        ahead = np.maximum(cosine, 0.0) ** self.m  # 2009, eq. 10
        return [(sinkage, even), (1 - sinkage, ahead if ahead.sum() > 0 else even)]  # eq. 7 + 8 have the same weights

    def change(self, dz) -> None:
        """Eq. 29: z_0 is the sum of all changes of the surface, at least 0."""
        self.Z += dz
        self.z0 = np.maximum(self.z0 - dz, 0.0)

    def erode(self, contact) -> None:
        """Eq. 25-28; 2009, eq. 11-12. A sweep moves all nodes at once; soil below the body stays."""
        rows, columns = np.array(list(contact)).T
        limit = self.dx * self.tan_repose  # eq. 27
        around = self.vicinity
        for _ in range(self.sweeps):
            dz, largest = np.zeros_like(self.Z), 0.0
            for i in range(rows.min() - around, rows.max() + around + 1):
                for j in range(columns.min() - around, columns.max() + around + 1):
                    free = [(i + a, j + b) for a, b in AXIAL if (i + a, j + b) not in contact]
                    if (i, j) in contact or not free:
                        continue
                    fall = {other: max(self.Z[i, j] - self.Z[other], 0.0) for other in free}  # eq. 25
                    half = (max(fall.values()) - limit) / 2  # eq. 26-28
                    if half > 0:
                        largest = max(largest, 2 * half)
                        dz[i, j] -= half
                        for other, potential in fall.items():
                            dz[other] += half * potential / sum(fall.values())
            self.change(dz)
            if largest <= BAND * limit:
                break

    def load(self, node, arm, height, velocity, omega) -> Load:
        """Eq. 11-22 at the end of the next step, to which the surface moves with its normal velocity (eq. 15)."""
        n, v = self.normal(node), velocity + np.cross(omega, arm)  # eq. 11
        rise = (v @ n) / n[2]
        z = self.Z[node] - (height + arm[2] + self.h * rise)
        bound = self.bekker(z + self.z0[node])  # eq. 29
        p = min(self.k_e * max(z - self.damping_time * rise, 0.0), bound)
        v_t = v - (v @ n) / (n @ n) * n  # eq. 14-16
        area = np.linalg.norm(n)
        friction = self.mu * p if self.year == 2008 else self.cohesion + self.tan_phi * p  # eq. 19; 2009, eq. 5
        force = p * n - friction * area * v_t / (np.linalg.norm(v_t) + self.creep)  # eq. 18
        return Load(float(z), float(bound), float(p), force, arm)
