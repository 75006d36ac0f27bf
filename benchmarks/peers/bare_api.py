"""A FastAPI application that knows its answer: what the frame alone costs."""

from __future__ import annotations

from fastapi import FastAPI

app = FastAPI()
_ANSWER = {
    "key": 1,
    "name": {"project": "default", "repo": "orders"},
    "kind": "user",
    "description": "what is sold",
    "created": "2026-01-01T00:00:00.000000Z",
    "branches": ["main"],
    "size": 0,
    "files": 0,
}


@app.get("/api/v1/repos/{project}/{repo}")
async def get_repo(project: str, repo: str) -> dict[str, object]:
    return _ANSWER
