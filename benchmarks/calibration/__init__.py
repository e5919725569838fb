"""Do the statistics keep their promises? Simulations in which the truth is known."""
