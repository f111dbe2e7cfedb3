# Two images are trusted: one builds and is thrown away, the other is the C library and the certificate authorities below the service,
# without a shell or a package manager. A release names both by digest: --build-arg BUILD_IMAGE=...@sha256:... (docs/image.md).
ARG BUILD_IMAGE=docker.io/library/node:26.10.0-trixie-slim
ARG BASE_IMAGE=gcr.io/distroless/cc-debian13:nonroot

FROM ${BUILD_IMAGE} AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
COPY packages/audit-store/package.json packages/audit-store/
COPY packages/demo/package.json packages/demo/
COPY packages/embedded-cluster/package.json packages/embedded-cluster/
COPY packages/kubectl-atrium/package.json packages/kubectl-atrium/
COPY packages/kubernetes/package.json packages/kubernetes/
COPY packages/http/package.json packages/http/
COPY packages/lists/package.json packages/lists/
COPY packages/objects/package.json packages/objects/
COPY packages/oidc-client/package.json packages/oidc-client/
# No package runs a script of its own here; what each is, the lock file says by its hash.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY LICENSE tsconfig.json ./
COPY scripts/build.ts scripts/bundle-plugin.ts scripts/help.ts scripts/text-packs.ts scripts/web.ts scripts/write-sbom.ts scripts/
COPY src src
COPY packages/audit-store packages/audit-store
COPY packages/kubectl-atrium packages/kubectl-atrium
COPY packages/kubernetes packages/kubernetes
COPY packages/http packages/http
COPY packages/lists packages/lists
COPY packages/objects packages/objects
COPY packages/oidc-client packages/oidc-client
COPY web web
# The runtime is the one of the lock file, not that of the build image.
RUN npm run build -- --outfile image/app/atrium.js \
 && npm run web \
 && cp -r web/dist image/app/public \
 && cp LICENSE image/app/ \
 && node_modules/.bin/node scripts/write-sbom.ts image/app \
 && install -D -m 0755 node_modules/.bin/node image/usr/local/bin/node \
 && install -D -m 0644 "$(dirname "$(readlink -f node_modules/.bin/node)")/../LICENSE" image/usr/local/share/doc/node/LICENSE
# The one library of the runtime that the base does not have; both are of the same Debian release.
RUN ldd image/usr/local/bin/node > libraries.txt \
 && install -D -m 0644 "$(awk '/libatomic/ { print $3 }' libraries.txt)" image/usr/lib/libatomic.so.1

FROM ${BASE_IMAGE}
ARG VERSION=1.0.0
ARG REVISION=unknown
ARG CREATED=1970-01-01T00:00:00Z
LABEL org.opencontainers.image.title="Atrium" \
      org.opencontainers.image.description="The backend of a web console for Kubernetes" \
      org.opencontainers.image.url="https://example.com/atrium" \
      org.opencontainers.image.source="https://example.com/atrium" \
      org.opencontainers.image.base.name="gcr.io/distroless/cc-debian13:nonroot" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}"
COPY --from=build /build/image/ /
WORKDIR /app
# Young objects get 4 MiB halves, not 16, and old ones half as much room again as they take, not more: docs/image.md has what it saves.
# And what the C library has freed goes back to the system, instead of waiting in one heap for each thread (docs/performance.md).
ENV NODE_ENV=production \
    ATRIUM_REVISION="${REVISION}" \
    NODE_OPTIONS=--max-semi-space-size=4 \
    MALLOC_ARENA_MAX=2 \
    MALLOC_TRIM_THRESHOLD_=131072
USER 65532:65532
EXPOSE 8080 9090
ENTRYPOINT ["/usr/local/bin/node", "--heap-growing-percent=50", "/app/atrium.js"]
CMD ["serve"]
