"""Contact between bodies of revolution: elements of one surface against the section of the other.

Krenn and Hirzinger 2009, section II.B.

    wire = Layer(young=2e9, thickness=5e-4)                       # grouser.contact.layers
    nozzle = RevolutionBody("client", Profile.cone((0, 0.2), (0.008, 0.122), inner=True), steel, "nozzle",
                            position=(0, 0, 0.5), axis=(0, 0, -1))
    crown = RevolutionBody("crown", Profile.ring(0.006, 0.001), wire, "crown", sectors=96)
    contact = RevolutionContact([RevolutionPair("nozzle-crown", crown, nozzle, friction=(0.3, 0.25),
                                                largest_area=2e-4)])
    Simulation(spec, [contact], step=...)
    contact.spread("crown", 0.002, speed=0.0004)                  # between steps; or set_profile(name, samples, speed)

- `Profile(z, r, inner=False)`: a curve in the half plane (r, z), see its docstring; `cone`, `cylinder`, `disk`, `arc`,
  `sphere`, `ring` (torus), `from_points`, `from_function` (sampled finer where it curves), `joined`.
- `RevolutionBody(body, profile, material, name, position, axis | quaternion, sectors, refine)`: a surface on a MuJoCo
  body, or fixed to the world if `body` is None. A body may have several. `mesh()` is for display.
- `RevolutionPair(name, a, b, friction, reach, largest_area, elements)`: channels give the wrench on the body of `a`
  (of `b` if `a` is fixed). `elements` names the surface that is divided into elements; default: the one with less
  area. Choose the finer, more curved one.
- `RevolutionContact(pairs, name="revolution")`: the force module. Forces between a body and the world are implicit.
  Forces between two moving bodies are explicit and exactly opposite; `declare(spec)` finds their `step_limit` from
  `largest_area`.
- Channels NAME/force, /torque, /penetration, /contact_area, /polygons (pair), /patch (elements in contact).
"""

from grouser.contact.layers import Layer
from grouser.contact.revolution.bodies import RevolutionBody, RevolutionPair
from grouser.contact.revolution.model import RevolutionContact
from grouser.contact.revolution.profile import Profile

__all__ = ["Layer", "Profile", "RevolutionBody", "RevolutionContact", "RevolutionPair"]
