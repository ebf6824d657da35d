"""The page and its answers over HTTP, on the loopback only, for whoever knows the token in the address.

Only this machine can connect; other users of it, and pages of other sites in the same browser, do not know
the token. A request for another host name is refused, so that a foreign name that is pointed at 127.0.0.1
reaches nothing (DNS rebinding). The page loads nothing from elsewhere (Content Security Policy).
"""

from __future__ import annotations

import secrets
import socket
from collections.abc import Awaitable, Callable, Sequence
from importlib.resources import files
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from incast.errors import IncastError, why
from incast.view.answers import Answer, Answers, WrongError
from incast.view.run import UnknownError

HOST = "127.0.0.1"
_QUERY_MAX = 4096
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class ViewServer:
    """Serves the runs in some folders."""

    def __init__(self, roots: Sequence[Path], port: int = 0) -> None:
        """Listens on a port of the loopback, a free one for 0; raises `OSError` where that is taken."""
        self._token = secrets.token_urlsafe(24)
        self._answers = Answers(roots)
        self._socket = socket.create_server((HOST, port))
        self._http = uvicorn.Server(
            uvicorn.Config(
                self._app(),
                lifespan="off",
                log_level="error",
                access_log=False,
                server_header=False,
                ws="none",
                h11_max_incomplete_event_size=16_384,
                limit_concurrency=64,
                timeout_graceful_shutdown=1,
            )
        )

    @property
    def address(self) -> str:
        """Where the page is; whoever has the address can see the runs."""
        return f"http://{HOST}:{self._socket.getsockname()[1]}/{self._token}/"

    def run(self) -> None:
        """Serves until it is interrupted, or stopped from another thread."""
        self._http.run(sockets=[self._socket])

    def stop(self) -> None:
        """Ends `run`."""
        self._http.should_exit = True

    def _app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/{token}/", self._page),
                Route("/{token}/static/{name}", self._static),
                Route("/{token}/ask/{what}", self._ask),
            ],
            middleware=[
                Middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"], www_redirect=False),
                Middleware(BaseHTTPMiddleware, dispatch=_with_headers),
            ],
            exception_handlers={HTTPException: _refused},
        )

    def _check(self, request: Request) -> None:
        given = str(request.path_params["token"]).encode()
        if not secrets.compare_digest(given, self._token.encode()):
            raise HTTPException(404, "Open the address that incast view has printed, with all its letters.")
        if len(request.url.query) > _QUERY_MAX:
            raise HTTPException(
                414, f"The question is too long: at most {_QUERY_MAX} characters are allowed."
            )

    async def _page(self, request: Request) -> Response:
        self._check(request)
        return _file("page.html")

    async def _static(self, request: Request) -> Response:
        self._check(request)
        name = request.path_params["name"]
        if name not in _static_names():
            raise HTTPException(404, "There is no such file.")
        return _file(name)

    async def _ask(self, request: Request) -> Response:
        self._check(request)
        answer = await run_in_threadpool(
            self._answer, request.path_params["what"], dict(request.query_params)
        )
        kind = "application/json" if answer.is_json else "application/octet-stream"
        return Response(answer.body, media_type=kind)

    def _answer(self, what: str, said: dict[str, str]) -> Answer:
        try:
            return self._answers.ask(what, said)
        except WrongError as error:
            raise HTTPException(400, str(error)) from None
        except UnknownError as error:
            raise HTTPException(404, str(error)) from None
        except (IncastError, OSError) as error:
            raise HTTPException(500, f"{why(error)}") from None


def _static_names() -> frozenset[str]:
    return frozenset(each.name for each in files("incast.view").joinpath("static").iterdir())


def _file(name: str) -> Response:
    content = files("incast.view").joinpath("static", name).read_bytes()
    return Response(content, media_type=_TYPES.get(Path(name).suffix, "text/plain"))


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return PlainTextResponse(error.detail, error.status_code)


async def _with_headers(request: Request, call: Callable[[Request], Awaitable[Response]]) -> Response:
    response = await call(request)
    response.headers.update(_HEADERS)
    return response
