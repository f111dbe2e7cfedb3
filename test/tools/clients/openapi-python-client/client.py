"""Code that a program would have with the client that openapi-python-client makes."""

import json
import os
import ssl
from urllib.parse import urlparse

from atrium_client import AuthenticatedClient
from atrium_client.api.access import create_self_subject_access_review
from atrium_client.api.console import handle_modules
from atrium_client.api.login import handle_login_v2
from atrium_client.api.users import get_user, list_users
from atrium_client.models import ListUsersOrder, ResourceAttributes, SelfSubjectAccessReviewRequest, SelfSubjectAccessReviewSpec

context = ssl.create_default_context(cafile=os.environ["SSL_CERT_FILE"])
client = AuthenticatedClient(base_url=os.environ["ATRIUM_URL"], token=os.environ["ATRIUM_TOKEN"], verify_ssl=context)

login = handle_login_v2.sync(client=client)
modules = handle_modules.sync(client=client)
listed = list_users.sync(client=client, limit=10, order=ListUsersOrder.ASC)
user = get_user.sync(os.environ["ATRIUM_USER"], client=client)
question = SelfSubjectAccessReviewRequest(
    spec=SelfSubjectAccessReviewSpec(
        resource_attributes=ResourceAttributes(verb="list", group="auth.platform.io", resource="users")
    )
)
review = create_self_subject_access_review.sync(client=client, body=question)

print(
    json.dumps(
        {
            "authURL": urlparse(login.auth_url).path,
            "revision": modules.field_,
            "emails": [item.spec.email for item in listed.items],
            "administrators": [item.spec.is_admin for item in listed.items],
            "total": listed.total,
            "created": user.metadata.creation_timestamp.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "phase": user.status.phase,
            "allowed": review.status.allowed,
        }
    )
)
