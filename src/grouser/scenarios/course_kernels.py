"""What is recorded of a vehicle on a course, as a kernel."""

import warp as wp

module = wp.get_module("grouser.scenarios.course")
module.options["enable_backward"] = False
real = wp.float64

QUANTITIES = {
    "speed": "m/s", "power": "W", "energy": "J", "battery_current": "A", "upright": "1", "pitch_deg": "deg",
    "distance": "m", "height": "m",
}  # fmt: skip


@wp.kernel(module=module)
def look(
    vehicle: int, body: int, root: int, velocity: wp.array(dtype=real), axes: wp.array(dtype=wp.mat33d),
    place: wp.array(dtype=wp.vec3d), power: wp.array2d(dtype=real), energy: wp.array(dtype=real),
    current: wp.array(dtype=real), seen_out: wp.array2d(dtype=real),
):  # fmt: skip
    """`seen_out` (quantity, vehicle); `root`: first degree of freedom of the chassis, its origin the centre of mass."""
    m = axes[body]
    drawn = real(0.0)
    for k in range(power.shape[1]):
        drawn += wp.max(power[0, k], real(0.0))
    along = velocity[root] * m[0, 0] + velocity[root + 1] * m[1, 0] + velocity[root + 2] * m[2, 0]
    seen_out[0, vehicle] = along
    seen_out[1, vehicle] = drawn
    seen_out[2, vehicle] = energy[0]
    seen_out[3, vehicle] = current[0]
    seen_out[4, vehicle] = m[2, 2]
    seen_out[5, vehicle] = wp.degrees(wp.asin(wp.clamp(m[2, 0], real(-1.0), real(1.0))))
    seen_out[6, vehicle] = place[body][0]
    seen_out[7, vehicle] = place[body][2]
