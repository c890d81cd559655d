"""The items of a project: features, pictures, the words that tell, and looking through them."""
