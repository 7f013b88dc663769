"""Two bodies of 5000 triangles that touch: what a step costs, beside coal's and MuJoCo's own mesh contact.

The upper body slides over the lower one at 0.1 m/s in steps of 0.1 ms, so that lists of candidates are made anew in
their share. coal is measured where it is installed (it is not needed to run Grouser).
"""

from __future__ import annotations

import time

import mujoco
import numpy as np
import warp as wp

from benchmarks.run import Row
from grouser.contact.polygonal import Layer, Pair, PolygonalModule, Shape, shape
from grouser.module import Motion, Outputs
from grouser.precision import precision

BAR, APART_BAR = 300.0, 10.0  # [us] a step
CELLS, HALF, RADIUS = 50, 0.1, 0.5  # cells^2 x 2 triangles, [m], [m]
STEP, SPEED = 1e-4, 0.1  # [s], [m/s]
WARM_UP, STEPS = 50, 1000
DEPTHS = {"500 faces": 2.3e-3, "100 faces": 0.48e-3}  # [m] how far the domes are pressed together


def measure() -> list[Row]:
    rows: list[Row] = []
    for label, depth in DEPTHS.items():
        for mode in (None, "exact"):  # the default, which is linear depth here, and polygons cut by both meshes
            bench = TwoBodies(mode)
            cost = bench.cost(-depth)
            faces, polygons = bench.elements()
            what = f"{bench.module.depth_between(0)} depth: {faces} faces in {polygons} polygons"
            rows.append(Row("polygonal", what, cost, "us", BAR if label == "500 faces" and mode is None else None))
            rows.append(
                Row(
                    "polygonal",
                    f"{label}, {bench.module.depth_between(0)}: of it evaluate",
                    bench.evaluate_cost(),
                    "us",
                )
            )
    rows.append(Row("polygonal", "bodies 1 mm apart", TwoBodies().cost(1e-3), "us", APART_BAR))
    rows.append(Row("polygonal", "bodies 1 m apart", TwoBodies().cost(1.0), "us", APART_BAR))
    return [*rows, *mujoco_cost(), *coal_cost()]


def dome(up: bool) -> tuple[np.ndarray, np.ndarray]:
    """Vertices [m] and triangles of a square piece of a sphere with a flat back, so that it is closed."""
    along = np.linspace(-HALF, HALF, CELLS + 1)
    x, y = np.meshgrid(along, along)
    vertices = np.stack([x, y, -(x**2 + y**2) / (2 * RADIUS)], -1).reshape(-1, 3)
    k = (np.arange(CELLS)[:, None] * (CELLS + 1) + np.arange(CELLS)).ravel()
    triangles = np.concatenate([np.stack([k, k + 1, k + CELLS + 2], 1), np.stack([k, k + CELLS + 2, k + CELLS + 1], 1)])
    if up:
        return vertices, triangles
    return vertices * np.array([1, 1, -1]), triangles[:, ::-1]


class TwoBodies:
    """The module on two moving bodies, told where they go."""

    def __init__(self, mode: str | None = None):
        layer = Layer(young=1e9, thickness=0.005)
        bodies: dict[str, Shape] = {
            "upper": shape(*dome(False), layer, name="upper"), "lower": shape(*dome(True), layer, name="lower")
        }  # fmt: skip
        p = precision("float64")

        def zeros(kind):
            return wp.zeros((1, 2), dtype=kind, device="cpu")

        self.motion = Motion(zeros(p.vec3), zeros(p.quat), zeros(p.vec3), zeros(p.vec3))
        out = Outputs(zeros(p.vec6), zeros(p.mat66), zeros(p.vec6), zeros(wp.int32))
        self.module = PolygonalModule(bodies, {}, [Pair("upper", "lower", depth=mode)])
        self.module.bind(self.motion, range(2), out, STEP)
        half = 0.15  # [rad] half of how far the upper body is turned about the vertical
        self.motion.rotation.numpy()[0] = [[0, 0, np.sin(half), np.cos(half)], [0, 0, 0, 1]]
        self.motion.velocity.numpy()[0, 0] = [SPEED, 0, 0]
        self.place = self.motion.position.numpy()

    def cost(self, height: float) -> float:
        """[us] of commit and evaluate: median of steps that keep their list and of those that make one, in their share.

        A mean would count what else the machine does.
        """
        self.place[0, 0] = [-0.5 * STEPS * STEP * SPEED, 0.0021, height]
        costs: tuple[list[float], list[float]] = ([], [])
        for k in range(WARM_UP + STEPS):
            self.place[0, 0, 0] += STEP * SPEED
            before = self.module.searches()[0, 0]
            start = time.perf_counter()
            self.module.commit(STEP)
            self.module.evaluate(STEP)
            taken = time.perf_counter() - start
            if k >= WARM_UP:
                costs[int(self.module.searches()[0, 0] > before)].append(taken)
        return 1e6 * sum(len(part) * float(np.median(part)) for part in costs if part) / STEPS

    def evaluate_cost(self) -> float:
        costs = []
        for _ in range(STEPS // 5):
            start = time.perf_counter()
            self.module.evaluate(STEP)
            costs.append(time.perf_counter() - start)
        return 1e6 * float(np.median(costs))

    def elements(self) -> tuple[int, int]:
        """Faces in contact, contact polygons."""
        channels = {c.name.split("/")[1]: c for c in self.module.channels()}
        return len(channels["patch"].read()), int(channels["polygons"].read()[0, 0])


def mujoco_cost() -> list[Row]:
    """MuJoCo's own contact of the same two meshes, which it takes for their convex hulls: one collision pass."""
    spec = mujoco.MjSpec()
    for name, up, z in (("upper", False, -DEPTHS["100 faces"]), ("lower", True, 0.0)):
        vertices, _ = dome(up)
        back = vertices * np.array([1, 1, 0]) + np.array([0, 0, -0.05 if up else 0.05])  # it wants a volume
        mesh = spec.add_mesh(name=name, uservert=np.vstack([vertices, back]).ravel())
        mesh.userface = np.zeros(0, int)
        body = spec.worldbody.add_body(name=name, pos=[0.0013, 0.0021, z] if name == "upper" else [0, 0, 0])
        body.add_freejoint()
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname=name, density=1000)
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    costs = []
    for _ in range(STEPS):
        start = time.perf_counter()
        mujoco.mj_collision(model, data)
        costs.append(time.perf_counter() - start)
    return [
        Row(
            "polygonal",
            f"MuJoCo, convex hulls of the same meshes: {data.ncon} contacts",
            1e6 * float(np.median(costs)),
            "us",
        )
    ]


def coal_cost() -> list[Row]:
    """coal's trees on the same two meshes: every pair of triangles that cross, without forces."""
    try:
        import coal
    except ImportError:
        print("polygonal: coal is not installed and was not measured")
        return []
    models = []
    for up in (False, True):
        model = coal.BVHModelOBBRSS()
        vertices, triangles = dome(up)
        model.beginModel(len(triangles), len(vertices))
        points, faces = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
        for v in vertices:
            points.append(v)
        for f in triangles:
            faces.append(coal.Triangle(*(int(i) for i in f)))
        model.addSubModel(points, faces)
        model.endModel()
        models.append(model)
    turn = np.array([[np.cos(0.3), -np.sin(0.3), 0], [np.sin(0.3), np.cos(0.3), 0], [0, 0, 1]])
    rows = []
    for label, height, most in (
        ("100 faces, first crossing", -DEPTHS["100 faces"], 1), ("1 mm apart", 1e-3, 1),
        *((f"{label}, all crossings", -depth, 100000) for label, depth in DEPTHS.items()),
    ):  # fmt: skip
        place = coal.Transform3s(turn, np.array([0.0013, 0.0021, height]))
        request = coal.CollisionRequest()
        request.num_max_contacts = most
        costs = []
        for _ in range(50):
            result = coal.CollisionResult()
            start = time.perf_counter()
            coal.collide(models[0], place, models[1], coal.Transform3s(), request, result)
            costs.append(time.perf_counter() - start)
        what = f"coal's trees, {label}: {result.numContacts()}"
        rows.append(Row("polygonal", what, 1e6 * float(np.median(costs)), "us"))
    return rows
