"""Styles of parts of a line, from component classes, blended with what lies under them."""

from __future__ import annotations

from rich.style import Style
from textual.widget import Widget


def ink(widget: Widget, component: str) -> Style:
    """A component's colour and attributes, without its background.

    Rich knows no alpha: only the whole style of a component is blended with the
    widget's own background, so a share of a colour is taken from there.
    """
    whole = widget.get_component_rich_style(component)
    return Style(
        color=whole.color,
        bold=whole.bold or None,
        italic=whole.italic or None,
        underline=whole.underline or None,
        reverse=whole.reverse or None,
    )
