"""The six files that measure.sh compresses, written into the working directory."""

import json
import random
from pathlib import Path

random.seed(1)
words = ["".join(random.choice("etaoinshrdlu") for _ in range(random.randint(2, 9))) for _ in range(4000)]
Path("prose.txt").write_text(" ".join(random.choices(words, k=60000)))
rows = [f"{i},{random.gauss(0, 1):.6f},{random.randint(0, 99)}" for i in range(20000)]
Path("table.csv").write_text("\n".join(rows))
Path("noise.bin").write_bytes(random.randbytes(300000))
Path("zeros.bin").write_bytes(bytes(2000000))
items = [{"id": i, "name": random.choice(words), "tags": random.choices(words, k=3)} for i in range(6000)]
Path("data.json").write_text(json.dumps(items))
code = [f"def f{i}(x, y={i}):\n    return x * y + {random.randint(0, 9)}\n" for i in range(9000)]
Path("code.py").write_text("\n".join(code))
