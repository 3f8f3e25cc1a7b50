import click

from gate.tokens import issue


@click.command()
@click.argument("user_id")
@click.option("--secret", envvar="GATE_SECRET", required=True)
def main(user_id, secret):
    click.echo(issue(user_id, secret))
