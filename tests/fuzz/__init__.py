"""Generated requests: schema fuzzing, the model of resources, and histories of concurrent clients."""
