"""Recipes: load, plan, request, execute, complete. Short enough to read aloud."""
