"""Built-in machines as MjSpec builders."""
