"""What every room uses: types, errors, options, what a run notices, files."""
