from flask import Flask, jsonify


def create_app(greeting):
    app = Flask(__name__)

    @app.get("/hello/<name>")
    def hello(name):
        return jsonify(message=f"{greeting}, {name}!")

    return app
