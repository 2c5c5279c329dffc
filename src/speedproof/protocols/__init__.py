"""Published procedures from samples to a verdict."""
