"""Contact of convex polyhedra: parts of machines against courses of convex pieces and against each other (Stadukhin).

from grouser.contact.convex import ConvexContact, ConvexPart, Material
from grouser.terrain.courses import stairs
from grouser.terrain.polyhedra import box, prism

wheel = prism(radius=0.1, width=0.05, sides=10)                       # axis along y
parts = [ConvexPart("hull", box((0.6, 0.3, 0.1))), ConvexPart("wheel", wheel, position=(0, 0.1, 0))]
module = ConvexContact(parts, stairs(count=3), Material(stiffness=1e9), friction=(0.8, 0.7))
Simulation(spec, [module], step=1e-3)
"""

from grouser.contact.convex.model import ConvexContact
from grouser.contact.convex.parts import ConvexPart, Material

__all__ = ["ConvexContact", "ConvexPart", "Material"]
