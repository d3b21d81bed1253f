"""The app's own code: frame, settings, background runs, the map and other figures. No mathematics."""
