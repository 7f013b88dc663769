"""Writes binary glTF 2.0 of meshes that are lit already. Vertex colours in glTF are linear light, not sRGB."""

from __future__ import annotations

import json
import struct
from functools import cache

import numpy as np

FLOAT, UNSIGNED_SHORT, UNSIGNED_INT = 5126, 5123, 5125
UNLIT = "KHR_materials_unlit"
VERTICES, INDICES = 34962, 34963
MAGIC, JSON_CHUNK, BINARY_CHUNK = 0x46546C67, 0x4E4F534A, 0x004E4942


@cache
def grid_triangles(rows: int, columns: int) -> np.ndarray:
    """Triangles, (m, 3), two for each cell of a grid of nodes, facing up."""
    node = np.arange(rows * columns).reshape(rows, columns)
    a, b, c, d = node[:-1, :-1].ravel(), node[:-1, 1:].ravel(), node[1:, 1:].ravel(), node[1:, :-1].ravel()
    return np.concatenate([np.stack([a, b, c], -1), np.stack([a, c, d], -1)])


@cache
def skirt_triangles(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes (n,) around a grid, and triangles (m, 3) of a wall below them, whose lower nodes follow the grid's."""
    node = np.arange(rows * columns).reshape(rows, columns)
    around = np.concatenate([node[0], node[1:, -1], node[-1, -2::-1], node[-2::-1, 0]])
    if rows == 1 or columns == 1:
        around = node.ravel()
    low = rows * columns + np.arange(len(around))
    a, b, c, d = around[:-1], around[1:], low[1:], low[:-1]
    return around, np.concatenate([np.stack([a, c, b], -1), np.stack([a, d, c], -1)])


def mesh(
    vertices: np.ndarray,
    triangles: np.ndarray,
    colours: np.ndarray,
    picture: bytes = b"",
    places: np.ndarray | None = None,
) -> bytes:
    """Encode a mesh that shines by itself as GLB.

    Vertices [m], (n, 3), triangles (m, 3), linear colours (n, 3). `picture`: a PNG texture, with its texture
    coordinates `places`, (n, 2).
    """
    count = len(vertices)
    small = count <= 65535
    parts = [
        np.asarray(vertices, np.float32).tobytes(), np.asarray(colours, np.float32).tobytes(),
        np.ascontiguousarray(triangles, np.uint16 if small else np.uint32).tobytes(),
    ]  # fmt: skip
    accessors = [
        {"bufferView": 0, "componentType": FLOAT, "count": count, "type": "VEC3",
         "min": np.min(vertices, axis=0).tolist(), "max": np.max(vertices, axis=0).tolist()},
        {"bufferView": 1, "componentType": FLOAT, "count": count, "type": "VEC3"},
        {"bufferView": 2, "componentType": UNSIGNED_SHORT if small else UNSIGNED_INT, "count": 3 * len(triangles),
         "type": "SCALAR"},
    ]  # fmt: skip
    views = [{"target": VERTICES}, {"target": VERTICES}, {"target": INDICES}]
    attributes = {"POSITION": 0, "COLOR_0": 1}
    shading: dict[str, object] = {"metallicFactor": 0.0, "roughnessFactor": 1.0}
    document: dict[str, object] = {
        "asset": {"version": "2.0"}, "scene": 0, "extensionsUsed": [UNLIT],
        "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": attributes, "indices": 2, "material": 0}]}],
        "materials": [{"pbrMetallicRoughness": shading, "doubleSided": True, "extensions": {UNLIT: {}}}],
        "accessors": accessors, "bufferViews": views,
    }  # fmt: skip
    if picture and places is not None:
        parts += [np.asarray(places, np.float32).tobytes(), picture]
        views += [{"target": VERTICES}, {}]
        accessors.append({"bufferView": 3, "componentType": FLOAT, "count": count, "type": "VEC2"})
        attributes["TEXCOORD_0"] = 3
        shading["baseColorTexture"] = {"index": 0}
        document |= {
            "textures": [{"source": 0, "sampler": 0}], "samplers": [{"wrapS": 10497, "wrapT": 10497}],
            "images": [{"bufferView": 4, "mimeType": "image/png"}],
        }  # fmt: skip
    offset = 0
    for view, part in zip(views, parts, strict=True):
        view |= {"buffer": 0, "byteOffset": offset, "byteLength": len(part)}
        offset += len(part) + -len(part) % 4
    document["buffers"] = [{"byteLength": offset}]
    binary = b"".join(part + b"\0" * (-len(part) % 4) for part in parts)
    text = json.dumps(document, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    total = 12 + 8 + len(text) + 8 + len(binary)
    return (
        struct.pack("<III", MAGIC, 2, total)
        + struct.pack("<II", len(text), JSON_CHUNK) + text
        + struct.pack("<II", len(binary), BINARY_CHUNK) + binary
    )  # fmt: skip
