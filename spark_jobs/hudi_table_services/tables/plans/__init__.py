"""Plans of table services on the timeline, whichever service they belong to."""
