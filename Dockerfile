# syntax=docker/dockerfile:1
# Images are named by digest, since a tag can be moved; dependabot proposes newer ones.
FROM node:22-bookworm-slim@sha256:43ac6c60b8f89723f746e8a92ce91abd5017e627ce1ddfe4238355d3a30b772c AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY scripts ./scripts
COPY src ./src
RUN npm run build
# What the server needs, with the clients for Redis and Prometheus, everything in the versions of the lock. They are
# optional peers, which npm leaves out of an install without the development's packages, even where they are asked for.
RUN peers=$(node -p "['@redis/client', 'prom-client'].map((name) => name + '@' + require('./package-lock.json').packages['node_modules/' + name].version).join(' ')") \
	&& npm pkg delete devDependencies peerDependencies peerDependenciesMeta \
	&& npm install --save-exact --omit=dev --ignore-scripts --no-audit --no-fund $peers

FROM node:22-bookworm-slim@sha256:43ac6c60b8f89723f746e8a92ce91abd5017e627ce1ddfe4238355d3a30b772c
ENV NODE_ENV=production
# With an arena for each thread, glibc keeps memory that was freed (docs/operations.md, "Memory").
ENV MALLOC_ARENA_MAX=2
ENV PALIMPSEST_ARCHIVE=/var/lib/palimpsest
# A container has no language of a reader.
ENV PALIMPSEST_PRESET=balanced PALIMPSEST_LOCALE=en
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/assets ./assets
COPY --from=build /app/dist ./dist
# The one place that is written to; where the archive is in Redis, none is.
RUN install -d -o node -g node -m 700 /var/lib/palimpsest
USER node
EXPOSE 8765 9464
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
	CMD ["node", "-e", "fetch('http://127.0.0.1:8765/healthz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/app/dist/cli.js"]
CMD ["serve", "--http", "0.0.0.0:8765", "--metrics", "0.0.0.0:9464", "--auth-tokens", "/run/secrets/palimpsest_tokens", "--log", "json"]
