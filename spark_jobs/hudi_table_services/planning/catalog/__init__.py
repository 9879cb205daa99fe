"""Plan a catalog sync: the wanted tables and partitions, and the changes that lead to them."""
