"""Measure the engine on tables of up to 100,000 file groups, and simulate large loads from measured costs."""
