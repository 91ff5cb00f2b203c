"""What a release says of itself: its manifest's body, its data card, its Croissant metadata."""
