"""Results to text."""
