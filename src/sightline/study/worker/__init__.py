"""The work of one task: read images, make maps, score them, write the files."""
