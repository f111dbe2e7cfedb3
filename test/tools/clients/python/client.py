"""Code that a program would have with the client that openapi-generator makes for Python: its models check every answer as it is read."""

import json
import os
from urllib.parse import urlparse

import atrium

configuration = atrium.Configuration(host=os.environ["ATRIUM_URL"], access_token=os.environ["ATRIUM_TOKEN"])
configuration.ssl_ca_cert = os.environ["SSL_CERT_FILE"]

with atrium.ApiClient(configuration) as client:
    login = atrium.LoginApi(client).handle_login_v2()
    modules = atrium.ConsoleApi(client).handle_modules()
    users = atrium.UsersApi(client)
    listed = users.list_users(limit=10, order="asc")
    user = users.get_user(os.environ["ATRIUM_USER"])
    question = atrium.SelfSubjectAccessReviewRequest(
        kind="SelfSubjectAccessReview",
        spec=atrium.SelfSubjectAccessReviewSpec(
            resource_attributes=atrium.ResourceAttributes(verb="list", group="auth.platform.io", resource="users")
        ),
    )
    review = atrium.AccessApi(client).create_self_subject_access_review(
        atrium.CreateSelfSubjectAccessReviewRequest(question)
    )

print(
    json.dumps(
        {
            "authURL": urlparse(login.auth_url).path,
            "revision": modules.revision,
            "emails": [item.spec.email for item in listed.items],
            "administrators": [item.spec.is_admin for item in listed.items],
            "total": listed.total,
            "created": user.metadata.creation_timestamp.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "phase": user.status.phase,
            "allowed": review.actual_instance.status.allowed,
        }
    )
)
