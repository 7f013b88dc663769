"""Steady wheels on soil that only compacts: load 185.5 N, r 0.15 m, b 0.1 m, shear modulus 18 mm.

Sinkage [mm], drawbar pull [N], torque [N m], to the digits of the table in physics/soil.md.
"""

RIGID = 1e18  # [Pa/m] stands for an infinite stiffness: the part behind the axle shrinks with its root
COLUMNS = ("frictionless", "full shear", "slip 0.1", "slip 0.3", "slip 0.6")
TABLE = {
    ("dry-sand", 5e7): [
        (26.60, -35.3, 0), (24.86, 67.9, 15.24), (25.98, 11.5, 6.91), (25.64, 36.1, 10.54), (25.35, 52.3, 12.93),
    ],
    ("dry-sand", RIGID): [
        (29.14, -43.7, 0), (26.86, 58.9, 14.90), (28.24, 4.1, 6.94), (27.80, 27.0, 10.28), (27.44, 42.8, 12.57),
    ],
    ("lunar-nominal", 5e7): [
        (31.35, -40.3, 0), (28.55, 81.4, 17.85), (30.17, 21.7, 9.10), (29.64, 48.9, 13.09), (29.21, 66.1, 15.60),
    ],
    ("lunar-nominal", RIGID): [
        (34.15, -48.6, 0), (30.57, 73.0, 17.52), (32.52, 15.2, 9.20), (31.86, 40.6, 12.87), (31.34, 57.3, 15.27),
    ],
    ("sandy-loam", 5e7): [
        (6.12, -14.0, 0), (5.88, 95.2, 16.36), (6.09, 6.3, 3.04), (6.06, 31.3, 6.79), (6.03, 54.3, 10.23),
    ],
    ("sandy-loam", RIGID): [
        (7.86, -24.4, 0), (7.38, 81.5, 15.69), (7.79, -4.7, 2.91), (7.71, 17.9, 6.28), (7.63, 39.5, 9.47),
    ],
    ("exomars-test", 5e7): [(78.03, -80.3, 0)],
    ("exomars-test", RIGID): [(83.03, -89.2, 0)],
}  # fmt: skip


def cases() -> list[tuple[str, float, str, tuple[float, float, float]]]:
    """Every entry: soil, elastic stiffness, column, values."""
    return [
        (name, k_e, column, values)
        for (name, k_e), row in TABLE.items()
        for column, values in zip(COLUMNS, row, strict=False)
    ]
