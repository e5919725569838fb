"""What runs tasks: in this process, in several, or on a Ray cluster."""
