"""Results, and the formats and commands made from them."""
