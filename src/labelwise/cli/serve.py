"""`labelwise serve`: the page to label on."""

from __future__ import annotations

import gc
import webbrowser
from contextlib import closing, nullcontext
from typing import Annotated

import typer

from labelwise.cli._common import errors, user_errors
from labelwise.cli._projects import ProjectPlace, check_extras, person

PAGE_NEEDS = ("fastapi", "uvicorn", "jinja2", "python_multipart")


def serve(
    project: ProjectPlace,
    host: Annotated[str, typer.Option(help="Where to listen. Others than this machine need users.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="On which port.")] = 8000,
    worker: Annotated[bool, typer.Option(help="Train beside, unless a worker is running already.")] = True,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Serve the page to label on, until stopped with Ctrl-C.

    On this machine you work alone and need no password. For others, add users (`labelwise user add`), then say where to
    listen; put a server that speaks HTTPS in front of it.

    **Examples**

    ```
    labelwise serve tickets.db --open
    labelwise serve postgresql://me@server/tickets --host 0.0.0.0 --port 80
    ```
    """
    check_extras(PAGE_NEEDS)
    from labelwise.labelling.web.reach import is_loopback, listen  # needs the extras just looked for

    address = f"http://{f'[{host}]' if ':' in host else host}:{port}/"

    def ready() -> None:
        gc.freeze()
        gc.enable()
        errors.print(f"labelling at {address}  (Ctrl-C stops)")
        if open_page and early is None:
            webbrowser.open(address)

    gc.disable()  # loading makes many objects and no rubbish; looking for some would hold up the first question
    with user_errors():
        early = listen(host, port) if is_loopback(host) else None  # a browser may begin while the rest is loading
        if open_page and early is not None:
            webbrowser.open(address)
        from labelwise.labelling.served import ServedProject
        from labelwise.labelling.web.server import check_reach, serve_project

        with closing(early) if early else nullcontext(), ServedProject(project) as found:
            check_reach(found, host)
            try:
                with closing(early or listen(host, port)) as listening:
                    serve_project(
                        found,
                        host=host,
                        port=port,
                        listening=listening,
                        local_user=person(None),
                        worker=worker,
                        on_ready=ready,
                    )
            except KeyboardInterrupt:
                errors.print("stopped; everything answered is saved")
