"""Tables of a deployment: their locations, new commits and pending table services."""
