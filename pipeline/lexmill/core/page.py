"""Pages from templates: every value escaped, and a name that the facts do not hold an error, never an empty place."""

import jinja2


def page_templates(loader: jinja2.BaseLoader) -> jinja2.Environment:
    """The Jinja2 environment of HTML pages, with the filter ``n`` for numbers."""
    environment = jinja2.Environment(
        loader=loader,
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["n"] = lambda number: f"{number:,}"
    return environment
