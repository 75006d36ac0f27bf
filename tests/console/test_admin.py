"""Administration: users, roles, tokens, the audit log, workers, pools, secrets, upkeep."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

import trunkline as tl
from tests.console.looking import Watch, axe, shot
from tests.console.screens import confirm
from tests.server.people import PASSWORD
from tests.serving import Serving

SERVE = ("--auth",)
HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def sample(sample: Path) -> Path:
    with tl.open(sample, direct=True) as lake:
        lake.create_user("ada", PASSWORD, "ada@example.org", {"lake": "admin"})
        lake.create_user("rita", PASSWORD, HOSTILE, {"default/orders": "reader"})
    return sample


def enter(context: BrowserContext, site: Serving, name: str) -> None:
    body = {"name": name, "password": PASSWORD}
    answer = context.request.post("/api/v1/login", data=body, headers={"Origin": site.url})
    assert answer.ok, answer.text()


@pytest.fixture
def admin(context: BrowserContext, site: Serving, page: Page) -> Page:
    enter(context, site, "ada")
    return page


@pytest.fixture
def reader(context: BrowserContext, site: Serving, page: Page, watch: Watch) -> Page:
    enter(context, site, "rita")
    watch.forgive("status of 40[34]")
    return page


def rows(page: Page, label: str) -> Locator:
    return page.get_by_role("region", name=label, exact=True).locator("tbody tr")


def dialog(page: Page) -> Locator:
    return page.get_by_role("dialog")


def act(page: Page, user: str, what: str) -> None:
    page.get_by_role("button", name=f"Actions for {user}").click()
    page.get_by_role("menuitem", name=what).click()


# -- people ------------------------------------------------------------------------------------


def test_a_users_life(admin: Page, sample: Path, watch: Watch):
    watch.forgive("status of 400")
    admin.goto("/admin?tab=users")
    expect(rows(admin, "Users").filter(has_text=HOSTILE)).to_contain_text("rita")
    assert admin.locator("img").count() == 0
    admin.get_by_role("button", name="New user").click()
    dialog(admin).get_by_label("Name").fill(HOSTILE)
    dialog(admin).get_by_role("button", name="Create").click()
    expect(dialog(admin).get_by_role("alert")).to_contain_text("cannot be the name of a user")
    assert axe(admin) == []
    dialog(admin).get_by_label("Name").fill("bob")
    dialog(admin).get_by_label("Password").fill(PASSWORD)
    dialog(admin).get_by_role("button", name="Create").click()
    bob = rows(admin, "Users").filter(has_text="bob")
    expect(bob).to_contain_text("reader on the whole lake")
    expect(bob).to_contain_text("active")
    shot(admin, "admin-users")

    act(admin, "bob", "Give a role")
    dialog(admin).get_by_label("Role").select_option("maintainer")
    dialog(admin).get_by_label("Where").fill("default/orders")
    dialog(admin).get_by_role("button", name="Give").click()
    expect(bob).to_contain_text("maintainer on repo default/orders")

    act(admin, "bob", "Set the password")
    dialog(admin).get_by_label("New password").fill("short")
    dialog(admin).get_by_role("button", name="Set").click()
    expect(dialog(admin).get_by_role("alert")).to_be_visible()
    dialog(admin).get_by_label("New password").fill("another long password")
    confirm(admin, "Set")

    act(admin, "bob", "Deactivate")
    expect(bob).to_contain_text("deactivated")
    with tl.open(sample) as lake:
        assert lake.user("bob").disabled
    act(admin, "bob", "Activate")
    expect(bob.get_by_text("active", exact=True)).to_be_visible()

    act(admin, "bob", "Delete")
    confirm(admin, "Delete")
    expect(bob).to_have_count(0)
    with tl.open(sample) as lake:
        assert "bob" not in [one.name for one in lake.users()]


def test_the_last_admin_stays(admin: Page, watch: Watch):
    watch.forgive("status of 412")
    admin.goto("/admin?tab=users")
    act(admin, "ada", "Deactivate")
    messages = admin.get_by_role("region", name="Messages")
    expect(messages).to_contain_text("admin")
    expect(rows(admin, "Users").filter(has_text="ada@")).not_to_contain_text("deactivated")


def test_roles_are_given_changed_and_taken(admin: Page, sample: Path):
    admin.goto("/admin?tab=roles")
    admin.get_by_role("button", name="Give a role").click()
    dialog(admin).get_by_label("User").fill("rita")
    dialog(admin).get_by_label("Role").select_option("writer")
    dialog(admin).get_by_label("Where").fill("default/clean")
    confirm(admin, "Give")
    given = rows(admin, "Roles").filter(has_text="default/clean")
    expect(given).to_contain_text("writer")
    given.get_by_role("button", name=re.compile("Change the role")).click()
    dialog(admin).get_by_label("Role").select_option("reader")
    confirm(admin, "Give")
    expect(given).to_contain_text("reader")
    given.get_by_role("button", name=re.compile("Take the role")).click()
    confirm(admin, "Take it")
    expect(given).to_have_count(0)
    with tl.open(sample) as lake:
        assert [one.scope for one in lake.user("rita").grants] == ["default/orders"]
    assert axe(admin) == []


def test_a_tokens_secret_is_shown_once(admin: Page, context: BrowserContext, site: Serving):
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    admin.goto("/admin?tab=tokens")
    admin.get_by_role("button", name="New token").click()
    dialog(admin).get_by_label("What it is for").fill(f"nightly {HOSTILE}")
    dialog(admin).get_by_label("Good for").select_option("1 day")
    dialog(admin).get_by_label("Owner").select_option("rita")
    dialog(admin).get_by_role("button", name="Add a role").click()
    dialog(admin).get_by_label("Where").fill("default/orders")
    dialog(admin).get_by_role("button", name="Create").click()
    secret = dialog(admin).get_by_text(re.compile("^tl_[0-9a-f]+_.{20,}"))
    expect(secret).to_be_visible()
    assert axe(admin) == []
    token = secret.inner_text()
    dialog(admin).get_by_role("button", name="Copy: Token").click()
    expect(admin.get_by_text("Copied.")).to_be_visible()
    assert admin.evaluate("navigator.clipboard.readText()") == token
    with tl.open(site.url, token=token) as lake:
        assert [one.name.repo for one in lake.repos()] == ["orders"]
    dialog(admin).get_by_role("button", name="I have kept it").click()
    made = rows(admin, "Tokens").filter(has_text=f"nightly {HOSTILE}")
    expect(made).to_contain_text("reader on repo default/orders")
    assert token not in admin.content()
    made.get_by_role("button", name=re.compile("Revoke")).click()
    confirm(admin, "Revoke")
    expect(made).to_have_count(0)
    admin.get_by_label("Logins, jobs and those that ended, too").click()
    expect(made).to_contain_text("revoked")
    with pytest.raises(tl.TrunklineError), tl.open(site.url, token=token) as lake:
        lake.repos()


def test_the_audit_log_is_narrowed(admin: Page, context: BrowserContext, site: Serving):
    context.request.put("/api/v1/pools/audited", data={"slots": 1}, headers={"Origin": site.url})
    admin.goto("/admin?tab=audit")
    entries = admin.get_by_role("region", name="Audit log").locator("tbody tr[aria-rowindex]")
    expect(entries.filter(has_text="PUT /pools").first).to_contain_text("ada")
    assert axe(admin) == []
    shot(admin, "admin-audit")
    admin.get_by_role("searchbox", name="Target contains").fill("audited")
    expect(admin).to_have_url(re.compile("q=audited"))
    expect(entries.filter(has_text="POST /login")).to_have_count(0)
    expect(entries.first).to_contain_text("audited")
    admin.get_by_role("combobox", name="Outcome").select_option("failed")
    expect(admin.get_by_text("Nothing is like this")).to_be_visible()
    admin.goto("/admin?tab=audit&who=nobody")
    expect(admin.get_by_text("Nothing is like this")).to_be_visible()


# -- the lake ----------------------------------------------------------------------------------


def test_pools_and_secrets(admin: Page, sample: Path):
    admin.goto("/admin?tab=pools")
    admin.get_by_role("button", name="New pool").click()
    dialog(admin).get_by_label("Name").fill("database")
    dialog(admin).get_by_label("Slots").fill("3")
    dialog(admin).get_by_role("button", name="Set").click()
    pool = rows(admin, "Pools").filter(has_text="database")
    expect(pool).to_contain_text("3")
    pool.get_by_role("button", name="Change database").click()
    dialog(admin).get_by_label("Slots").fill("0")
    dialog(admin).get_by_role("button", name="Set").click()
    expect(pool.get_by_role("cell", name="0").first).to_be_visible()
    pool.get_by_role("button", name="Delete database").click()
    confirm(admin, "Delete")
    expect(pool).to_have_count(0)

    admin.goto("/admin?tab=secrets")
    admin.get_by_role("button", name="New secret").click()
    dialog(admin).get_by_label("Name").fill("chat-token")
    dialog(admin).get_by_label("Value").fill("very secret")
    dialog(admin).get_by_role("button", name="Set").click()
    secret = rows(admin, "Secrets").filter(has_text="chat-token")
    expect(secret).to_be_visible()
    assert "very secret" not in admin.content()
    secret.get_by_role("button", name="Set chat-token anew").click()
    dialog(admin).get_by_label("Value").fill("another")
    confirm(admin, "Set")
    secret.get_by_role("button", name="Delete chat-token").click()
    confirm(admin, "Delete")
    expect(secret).to_have_count(0)
    with tl.open(sample) as lake:
        assert "chat-token" not in lake.secrets()


def test_upkeep(admin: Page):
    admin.goto("/admin?tab=upkeep")
    expect(admin.get_by_text("in 1 project")).to_be_visible()
    admin.get_by_role("button", name="See what would go").click()
    expect(admin.get_by_text("Would remove")).to_be_visible()
    admin.get_by_role("button", name="Collect…").click()
    dialog(admin).get_by_role("button", name="Collect").click()
    expect(admin.get_by_text("Removed", exact=True)).to_be_visible()
    admin.get_by_role("button", name="Check", exact=True).click()
    expect(admin.get_by_text("no problems")).to_be_visible()
    admin.get_by_role("button", name="Try the store").click()
    expect(admin.get_by_text("The store can be written")).to_be_visible()
    assert axe(admin) == []


def test_settings_and_workers(admin: Page):
    admin.goto("/admin?tab=settings")
    admin.get_by_role("searchbox", name="Filter settings").fill("session.length")
    expect(rows(admin, "Settings")).to_have_count(1)
    expect(rows(admin, "Settings")).to_contain_text("default")
    assert axe(admin) == []
    admin.get_by_role("tab", name="Workers").click()
    expect(admin.get_by_text("trunkline serve --workers 1")).to_be_visible()
    assert axe(admin) == []


# -- a reader ----------------------------------------------------------------------------------


def test_a_reader_is_told_what_is_not_theirs(reader: Page):
    reader.goto("/admin")
    expect(reader.get_by_text("reader on repo default/orders")).to_be_visible()
    for tab in ("Users", "Roles", "Audit", "Secrets", "Settings"):
        reader.get_by_role("tab", name=tab).click()
        expect(reader.get_by_role("alert")).to_contain_text("rita may not")
    reader.get_by_role("tab", name="Tokens").click()
    reader.get_by_role("button", name="New token").click()
    expect(dialog(reader).get_by_label("Owner")).to_have_count(0)
    dialog(reader).get_by_label("What it is for").fill("mine")
    dialog(reader).get_by_role("button", name="Create").click()
    dialog(reader).get_by_role("button", name="I have kept it").click()
    expect(rows(reader, "Tokens")).to_have_count(1)
    reader.goto("/")
    expect(reader.get_by_role("region", name="Figures")).to_contain_text("1repo")
    assert axe(reader) == []


def test_a_reader_changes_their_own_password(reader: Page):
    reader.goto("/admin")
    reader.get_by_role("button", name="Change my password").click()
    dialog(reader).get_by_label("Current password").fill("not this one")
    dialog(reader).get_by_label("New password").fill(PASSWORD)
    dialog(reader).get_by_role("button", name="Set").click()
    expect(dialog(reader).get_by_role("alert")).to_contain_text("The current password is wrong.")
    dialog(reader).get_by_label("Current password").fill(PASSWORD)
    confirm(reader, "Set")
