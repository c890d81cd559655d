"""`labelwise serve`: the page to label on; `labelwise serve-worker`: train beside the people who label."""

from __future__ import annotations

import gc
import webbrowser
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Annotated

import typer

from labelwise.cli._common import ProjectPlace, errors, opened, person, user_errors


def serve(
    project: ProjectPlace,
    host: Annotated[
        str, typer.Option(help="Address to listen on. Any other than this machine needs users.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 8000,
    worker: Annotated[bool, typer.Option(help="Start a worker that trains, unless one is running already.")] = True,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="Name of the page as browsers see it behind a proxy. Repeatable; needs users."),
    ] = None,
    behind_proxy: Annotated[
        list[str] | None,
        typer.Option(help="Trust the X-Forwarded headers of the proxy at this address. Repeatable; needs users."),
    ] = None,
    trust_header: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Header in which the proxy says who somebody is, such as X-Forwarded-User. It is believed from "
            "--behind-proxy alone, by default from this machine; needs users.",
        ),
    ] = None,
    new_people: Annotated[
        str | None,
        typer.Option(
            metavar="ROLE",
            help="Role of people whom the proxy or the provider names and nobody added: annotator, reviewer or viewer. "
            "Without it they are refused.",
        ),
    ] = None,
    oidc_issuer: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="OpenID provider to sign in by. Its secret for us is read from LABELWISE_OIDC_SECRET; needs users.",
        ),
    ] = None,
    oidc_client: Annotated[
        str | None, typer.Option(metavar="ID", help="Name that the OpenID provider knows us by.")
    ] = None,
    oidc_claim: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Claim that is the person's name; preferred_username if it is left out."),
    ] = None,
    log_format: Annotated[str, typer.Option(help="Logs on stderr: text, or json for one JSON object a line.")] = "text",
    log_requests: Annotated[
        bool, typer.Option("--log-requests", help="With json, also every request: method, place, status, seconds.")
    ] = False,
) -> None:
    """Serve the page to label on, until stopped with Ctrl-C.

    On your own machine you need no password. Open the address that the command prints: it contains a secret, and it
    stays the same after a restart. For other people, add users (`labelwise user add`), set --host, and put a server
    that speaks HTTPS in front.

    **Examples**

    ```
    labelwise serve tickets.db --open
    labelwise serve tickets.db --allow-host label.example.org --behind-proxy 127.0.0.1
    labelwise serve tickets.db --allow-host label.example.org --trust-header X-Forwarded-User
    labelwise serve tickets.db --allow-host label.example.org --behind-proxy 127.0.0.1 \\
        --oidc-issuer https://login.example.org --oidc-client labelwise
    labelwise serve postgresql://me@server/tickets --host 0.0.0.0 --port 80 --log-format json
    ```
    """
    from labelwise.labelling.web.reach import OpenId, Reach, listen, local_secret, opening_page  # start-up

    address = f"http://{f'[{host}]' if ':' in host else host}:{port}/"

    def ready() -> None:
        gc.freeze()
        gc.enable()
        errors.print(f"labelling at {link}  (Ctrl-C stops)")
        if open_page and early is None:
            webbrowser.open(to_open)

    gc.disable()  # loading makes many objects and no rubbish; looking for some would hold up the first question
    with user_errors():
        if log_format not in ("text", "json") or (log_requests and log_format == "text"):
            raise ValueError(f"--log-format is text or json, and --log-requests goes with json; got {log_format!r}")
        provider = OpenId.read(oidc_issuer, oidc_client, oidc_claim)
        reach = Reach.read(host, tuple(allow_host or ()), tuple(behind_proxy or ()), trust_header, new_people, provider)
        is_early = reach.is_local and "://" not in project and Path(project).is_file()
        early = listen(host, port) if is_early else None  # a browser may begin while the rest is loading
        link = to_open = address
        if early is not None and open_page:
            folder = Path(f"{project}.derived")
            webbrowser.open(opening_page(folder, f"{address}local/{local_secret(folder)}"))
        from labelwise.labelling.served import ServedProject
        from labelwise.labelling.web.operations import log_as_json
        from labelwise.labelling.web.server import check_reach, secret_folder, serve_project

        if log_format == "json":
            log_as_json(log_requests)

        with closing(early) if early else nullcontext(), ServedProject(project) as found:
            check_reach(found, reach)
            if reach.is_local and not found.people.has_users():
                folder = secret_folder(found)
                link = f"{address}local/{local_secret(folder)}"
                to_open = opening_page(folder, link) if open_page else link
            try:
                with closing(early or listen(host, port)) as listening:
                    serve_project(
                        found,
                        reach=reach,
                        port=port,
                        listening=listening,
                        local_user=person(None),
                        worker=worker,
                        on_ready=ready,
                    )
            except KeyboardInterrupt:
                errors.print("stopped; everything answered is saved")


def serve_worker(
    project: ProjectPlace,
    once: Annotated[bool, typer.Option("--once", help="Train on all answers, prepare questions, and stop.")] = False,
) -> None:
    """Train on new answers and keep questions ready, until stopped with Ctrl-C.

    A project has one worker; a second one stops with exit code 3. If the worker is killed, nothing is lost: the last
    good questions and model stay, and the next worker continues from the answers.

    **Examples**

    ```
    labelwise serve-worker tickets.db
    labelwise serve-worker postgresql://me@server/tickets --once
    ```
    """
    with opened(project) as found:
        worker = found.worker(on_event=errors.print)
        try:
            worker.run(until=lambda: once and found.is_settled and not worker.is_encoding, patient=not once)
        except KeyboardInterrupt:
            errors.print("stopped; the questions made so far stay ready")
        worker.keep_model()
