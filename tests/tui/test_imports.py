"""The dashboard's modules stand on each other, in types and late imports, too."""

from __future__ import annotations

import grimp


def test_no_module_of_the_dashboard_imports_what_imports_it() -> None:
    graph = grimp.build_graph("workers_tui", cache_dir=None)
    ours = {name for name in graph.modules if name.startswith("workers_tui.tui.")}
    circles = {
        (one, other)
        for one in ours
        for other in graph.find_modules_directly_imported_by(one) & ours
        if graph.chain_exists(importer=other, imported=one)
    }
    assert circles == set()
