"""The algorithms as users call them: signatures, documentation and checks of parameters."""
