"""Files of any kind: found, downloaded, checked, written whole."""
