"""Writes binary glTF 2.0 of one coloured height patch. Vertex colours in glTF are linear light, not sRGB."""

from __future__ import annotations

import json
import struct
from functools import cache

import numpy as np

from grouser.viewer.colours import linear

FLOAT, UNSIGNED_BYTE, UNSIGNED_SHORT, UNSIGNED_INT = 5126, 5121, 5123, 5125
VERTICES, INDICES = 34962, 34963
MAGIC, JSON_CHUNK, BINARY_CHUNK = 0x46546C67, 0x4E4F534A, 0x004E4942


@cache
def grid_triangles(rows: int, columns: int) -> np.ndarray:
    """Triangles, (m, 3), two for each cell of a grid of nodes, facing up."""
    node = np.arange(rows * columns).reshape(rows, columns)
    a, b, c, d = node[:-1, :-1].ravel(), node[:-1, 1:].ravel(), node[1:, 1:].ravel(), node[1:, :-1].ravel()
    return np.concatenate([np.stack([a, b, c], -1), np.stack([a, c, d], -1)])


def height_normals(heights: np.ndarray, dx: float, dy: float) -> np.ndarray:
    """Unit normals, (ny, nx, 3), of a height grid [m]."""
    along_y = np.gradient(heights, dy, axis=0) if heights.shape[0] > 1 else np.zeros_like(heights)
    along_x = np.gradient(heights, dx, axis=1) if heights.shape[1] > 1 else np.zeros_like(heights)
    normals = np.stack([-along_x, -along_y, np.ones_like(heights)], axis=-1)
    return normals / np.linalg.norm(normals, axis=-1, keepdims=True)


def mesh(
    vertices: np.ndarray,
    triangles: np.ndarray,
    normals: np.ndarray,
    colours: np.ndarray,
    picture: bytes = b"",
    places: np.ndarray | None = None,
) -> bytes:
    """Encode a mesh as GLB.

    Vertices [m], (n, 3), triangles (m, 3), unit normals and sRGB colours (n, 3). `picture`: a PNG texture, with its
    texture coordinates `places`, (n, 2).
    """
    count = len(vertices)
    small = count <= 65535
    colour = np.full((count, 4), 255, np.uint8)
    colour[:, :3] = np.round(255 * linear(colours))
    parts = [
        np.asarray(vertices, np.float32).tobytes(), np.asarray(normals, np.float32).tobytes(), colour.tobytes(),
        np.ascontiguousarray(triangles, np.uint16 if small else np.uint32).tobytes(),
    ]  # fmt: skip
    accessors = [
        {"bufferView": 0, "componentType": FLOAT, "count": count, "type": "VEC3",
         "min": np.min(vertices, axis=0).tolist(), "max": np.max(vertices, axis=0).tolist()},
        {"bufferView": 1, "componentType": FLOAT, "count": count, "type": "VEC3"},
        {"bufferView": 2, "componentType": UNSIGNED_BYTE, "count": count, "type": "VEC4", "normalized": True},
        {"bufferView": 3, "componentType": UNSIGNED_SHORT if small else UNSIGNED_INT, "count": 3 * len(triangles),
         "type": "SCALAR"},
    ]  # fmt: skip
    views = [{"target": VERTICES}, {"target": VERTICES}, {"target": VERTICES}, {"target": INDICES}]
    attributes = {"POSITION": 0, "NORMAL": 1, "COLOR_0": 2}
    shading: dict[str, object] = {"metallicFactor": 0.0, "roughnessFactor": 0.95}
    document: dict[str, object] = {
        "asset": {"version": "2.0"}, "scene": 0,
        "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": attributes, "indices": 3, "material": 0}]}],
        "materials": [{"pbrMetallicRoughness": shading, "doubleSided": True}],
        "accessors": accessors, "bufferViews": views,
    }  # fmt: skip
    if picture and places is not None:
        parts += [np.asarray(places, np.float32).tobytes(), picture]
        views += [{"target": VERTICES}, {}]
        accessors.append({"bufferView": 4, "componentType": FLOAT, "count": count, "type": "VEC2"})
        attributes["TEXCOORD_0"] = 4
        shading["baseColorTexture"] = {"index": 0}
        document |= {
            "textures": [{"source": 0, "sampler": 0}], "samplers": [{"wrapS": 10497, "wrapT": 10497}],
            "images": [{"bufferView": 5, "mimeType": "image/png"}],
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
