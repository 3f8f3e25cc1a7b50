import click

from feedcheck.client import Feed, titles


@click.command()
@click.argument("url")
def main(url):
    for title in titles(Feed(url).fetch()):
        click.echo(title)
