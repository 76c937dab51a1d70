"""runwatch: know within a second whether a training run is healthy, and what broke first."""

__version__ = "0.1.0"
