"""A trained model -> what a server loads."""
