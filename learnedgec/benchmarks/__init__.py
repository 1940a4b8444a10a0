"""Human judgements of system outputs, behind one shape (`base`), found by name (`names`)."""
