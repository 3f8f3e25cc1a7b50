"""Short names for long addresses."""

from flask import Flask, abort, redirect

TARGETS = {"docs": "https://docs.example.com/"}

app = Flask(__name__)


@app.get("/<name>")
def follow(name: str):
    if name not in TARGETS:
        abort(404)
    return redirect(TARGETS[name])
