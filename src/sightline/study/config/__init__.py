"""Study files: what a run is to do, read and checked."""
