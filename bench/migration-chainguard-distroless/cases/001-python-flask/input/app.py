import os

from waitress import serve

from greeter.web import create_app

if __name__ == "__main__":
    serve(create_app(os.environ.get("GREETING", "Hello")), host="0.0.0.0", port=8000)
