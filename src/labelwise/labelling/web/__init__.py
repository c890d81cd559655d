"""The page that people label on: HTTP lives here and nowhere else. `create_app` is in `server`."""
