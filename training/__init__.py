"""How the models that ship were trained: on Facades, on one GPU, from seeds."""
