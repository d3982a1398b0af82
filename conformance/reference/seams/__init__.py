"""What the reference server decides, one function a rule, so that a faulty server can override just that."""
