"""What goes out of the lake: deliveries of pipelines, and exports by hand.

An export is sent from here, with the lake's secrets and to wherever its caller says: who may
declare the repo's pipelines may do that already. What would be written to the files of this
machine is an admin's alone.
"""

from __future__ import annotations

from trunkline.errors import NotAllowed
from trunkline.lake.this_machine import of_target
from trunkline.model.access import LAKE, Permission
from trunkline.model.egress import Delivery
from trunkline.model.refs import parse_ref, parse_repo
from trunkline.pipelines.spec.egressaddresses import GIVEN, checked
from trunkline.sdk.egress import Exported
from trunkline.sdk.wire.egress import Deliver, Export, Settle
from trunkline.sdk.wire.values import Page
from trunkline.server.calls import ANYBODY, WRITE_REPO, Caller, Needs, On, Routes
from trunkline.server.paging import Cursor, Limit, page

routes = Routes(tags=["egress"])
OF_PIPELINE = "/pipelines/{project}/{repo}/deliveries"


@routes.GET("/deliveries", ANYBODY)
def list_deliveries(
    call: Caller,
    project: str | None = None,
    pipeline: str | None = None,
    target: str | None = None,
    job: str | None = None,
    failed: bool = False,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Page[Delivery]:
    """Deliveries of a project, a pipeline or all that the caller may read, newest first."""
    lake = call.lake
    if project is not None:
        call.require_project_seen(project)
        lake = lake.bound(project=project)
    if pipeline is not None:
        call.require(Permission.READ, parse_repo(pipeline, project=lake.project))
    found = lake.deliveries(
        pipeline, target=target, job=job, failed=failed, all_projects=project is None
    )
    return page(call.visible(found, lambda one: one.pipeline), _key, limit, cursor)


@routes.POST(OF_PIPELINE, WRITE_REPO)
def deliver(call: Caller, project: str, repo: str, body: Deliver) -> list[Delivery]:
    """Send the newest output to the pipeline's targets, or to one."""
    return call.lake.deliver(f"{project}/{repo}", body.target)


@routes.POST(f"{OF_PIPELINE}/retry", WRITE_REPO)
def retry_deliveries(call: Caller, project: str, repo: str, body: Settle) -> list[Delivery]:
    """Try again what failed, and at once what waits for its next try."""
    return call.lake.retry_deliveries(f"{project}/{repo}", body.target, job=body.job)


@routes.POST(f"{OF_PIPELINE}/skip", WRITE_REPO)
def skip_deliveries(call: Caller, project: str, repo: str, body: Settle) -> list[Delivery]:
    """Leave out what failed or waits; those behind it go on."""
    return call.lake.skip_deliveries(f"{project}/{repo}", body.target, job=body.job)


@routes.POST("/export", Needs(On.BODY, Permission.MAINTAIN))
def export(call: Caller, body: Export) -> Exported:
    """Send a version to a target now, from the server."""
    call.require(Permission.MAINTAIN, parse_ref(body.ref).repo)
    target = checked(body.target)
    here = next(of_target(target).locals(), None)
    if here is not None and not call.who.may(Permission.ADMIN, LAKE):
        raise NotAllowed(
            f"{call.who.name} may not export by way of the server's machine: "
            f"{target.kind}.{here.name} {here.what}.",
            hint="trunkline get writes to your own computer.",
        )
    return call.lake._exported(body.ref, target, {GIVEN: body.password} if body.password else {})


def _key(one: Delivery) -> str:
    return f"{(1 << 62) - one.created:020d}{one.pipeline}\0{one.target}\0{one.commit}"
