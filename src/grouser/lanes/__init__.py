"""Device functions for several elements at once: C++ with vector types, generated from their Python source.

A device function is written for one element, such as a node of soil, with branches where elements differ. A processor
can work on eight numbers at once, but a compiler does not find this in code with branches. `lanes_of` translates
functions, and those they call, into C++ in which every number is a vector of LANES numbers, one for each element
(a lane). A branch is run if any lane takes it, and changes only the lanes that do. There is one source of each law: its
device function. `tests/test_lanes.py` compares both, and `tests/contact/soil/test_node_lanes.py` node by node.

The text belongs into the body of a `wp.func_native`, where it defines a lambda for each function, called with the mask
of lanes that are on as last argument. Numbers that are the same in all lanes stay scalars. The C++ compiler finds the
types, so the text serves both float types; it must begin with `typedef ... real;`.

What can be translated: assignments, `if`, `for ... in range(...)` without `return` inside, `return`, arithmetic,
comparisons, structs, vectors, elements of arrays, tuples as results. A name must be assigned before the branch in which
it gets another value. Both sides of `and` and `or` are evaluated.
"""

from grouser.lanes.prelude import END, LANES
from grouser.lanes.translator import lanes_of, name_of

__all__ = ["END", "LANES", "lanes_of", "name_of"]
