"""From a model and images to attribution maps: methods, sanity checks, prototypes."""
