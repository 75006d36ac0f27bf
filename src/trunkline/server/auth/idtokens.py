"""What authlib does for single sign-on: it checks id tokens. Only `oidc` imports this."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from authlib.oauth2.rfc7636 import create_s256_code_challenge  # type: ignore[import-untyped]
from authlib.oidc.core import CodeIDToken  # type: ignore[import-untyped]
from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jwk import KeySet

from trunkline.errors import NotAuthenticated

if TYPE_CHECKING:
    from trunkline.server.auth.oidc import Provider

log = logging.getLogger("trunkline.server")

LEEWAY_SECONDS = 30
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA")


def challenge(verifier: str) -> str:
    """The S256 challenge of PKCE."""
    return str(create_s256_code_challenge(verifier))


def claims(provider: Provider, id_token: str, nonce: str) -> dict[str, Any]:
    """What an id token says, once its signature, issuer, audience, times and nonce are right."""
    try:
        found = _decoded(provider, id_token)
        checked = CodeIDToken(
            found.claims,
            found.header,
            {
                "iss": {"essential": True, "value": provider.issuer},
                "aud": {"essential": True, "value": provider.client},
                "sub": {"essential": True},
            },
            {"nonce": nonce, "client_id": provider.client},
        )
        checked.validate(leeway=LEEWAY_SECONDS)
    except (JoseError, ValueError, TypeError) as error:
        log.warning("an id token was refused: %s", type(error).__name__)
        raise NotAuthenticated(
            "The single sign-on's answer is not good.", hint="Log in again."
        ) from None
    return dict(checked)


def _decoded(provider: Provider, id_token: str) -> jwt.Token:
    try:
        return jwt.decode(id_token, KeySet.import_key_set(provider.keys), ALGORITHMS)  # type: ignore[arg-type]
    except InvalidKeyIdError:
        # Its keys have changed since they were read.
        provider.read_keys_again()
        return jwt.decode(id_token, KeySet.import_key_set(provider.keys), ALGORITHMS)  # type: ignore[arg-type]
