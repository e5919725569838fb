"""From a study to tasks: sources of maps, images in chunks, what each task depends on."""
