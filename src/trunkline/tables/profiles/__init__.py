"""What the columns of a table hold: counts, bounds, quantiles, histograms."""
