from pathlib import Path
import tempfile,sys
from tests.endurance.course import *
with tempfile.TemporaryDirectory() as p:
    d=drive(Path(p)/"s", 0.65, spacing=0.02); print(table(d)); s=d.processes[-1]; print(len(s), [(round(x.time),round(x.used,1),round(x.memory/1e6)) for x in s[::20]], flush=True)
