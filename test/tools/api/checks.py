"""What schemathesis does not look for by itself."""

import re

import schemathesis

STACK_FRAME = re.compile(r"\bat \S.*(?:\.[jt]s:\d+|node:\w+)|node_modules|\[object Object\]")
HASH = re.compile(r"\$argon2|\$2[aby]\$")


# It takes the first of its own YAML types for all of them.
@schemathesis.deserializer("text/yaml", "application/yaml")
def as_text(_, response):
    """YAML is described as the text that it is: a kubeconfig is written to a file as it comes."""
    return response.content.decode("utf-8")


@schemathesis.check
def nothing_internal(ctx, response, case):
    """No answer tells a stack, a path of ours or a hash; files that are served as they are may say what they like."""
    if case.operation.path in ("/{subpath}", "/docs/{file}"):
        return
    text = response.content.decode("utf-8", "replace")
    for pattern in (STACK_FRAME, HASH):
        found = pattern.search(text)
        # A value that came with the request and is quoted is the caller's own.
        if found and found.group(0) not in str(case.as_transport_kwargs()):
            raise AssertionError(f"the answer holds {found.group(0)!r}")
