"""Generated requests, the model and histories of concurrent clients."""
