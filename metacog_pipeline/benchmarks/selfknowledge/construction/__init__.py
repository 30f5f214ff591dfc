"""Fields of rows, for training until it reads them itself."""
