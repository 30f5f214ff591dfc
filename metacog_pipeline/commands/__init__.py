"""The commands behind ``metacog``, grouped by what they are about."""
