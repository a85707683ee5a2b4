import type { ArchiveLocation } from "../archive/open-archive-of-policy.ts";
import type { CompactionSource } from "../config/create-compaction-source.ts";
import { createAuthentication } from "../mcp/auth/create-authentication.ts";
import { createPrincipalArchives } from "../mcp/auth/create-principal-archives.ts";
import { type HttpOptions, serveHttp } from "../mcp/transports/http.ts";
import { parseAddress } from "../mcp/transports/parse-address.ts";
import { parsePublicUrl } from "../mcp/transports/parse-public-url.ts";
import type { HttpServeOptions } from "./add-serve-options.ts";
import { say } from "./shell.ts";

/** What the command line says. */
export interface HttpCommandOptions extends HttpServeOptions {
	readonly http: string | true;
	/** The operator's archive, within whose namespace each principal has one. */
	readonly location: ArchiveLocation;
}

/** `palimpsest serve --http`: serves until a signal ends it. Loaded on demand, so that stdio starts without Express. */
export async function serveOverHttp(
	server: Omit<HttpOptions, "address"> & { readonly compaction?: CompactionSource | undefined },
	options: HttpCommandOptions,
): Promise<void> {
	const { policySource, log, archive, compaction } = server;
	const address = parseAddress(options.http);
	const publicUrl = options.publicUrl === undefined ? undefined : parsePublicUrl(options.publicUrl);
	const authentication = await createAuthentication({
		tokensFile: options.authTokens,
		tokensVariable: process.env.PALIMPSEST_AUTH_TOKENS,
		issuer: options.authIssuer,
		audiences: options.authAudience,
		jwks: options.authJwks,
		scopes: options.authScope,
		log,
	});
	const archives = createPrincipalArchives({ location: options.location, policy: policySource.current });
	const { callSeconds } = options;
	const service = await serveHttp({
		...server,
		address,
		publicUrl,
		authentication,
		archiveOf: archives.of,
		isStateless: options.stateless,
		quotas: {
			requestsPerMinute: options.requestsPerMinute,
			concurrentCalls: options.concurrentCalls,
			callMilliseconds: callSeconds === undefined ? undefined : callSeconds * 1_000,
			sessions: options.sessionsPerPrincipal,
		},
	});
	const sse = options.stateless ? "" : ` and ${service.url}/sse (HTTP+SSE)`;
	say(`serving MCP at ${service.url}/mcp (Streamable HTTP)${sse}`);
	const leave = () => {
		policySource.close();
		authentication?.close();
		archive?.end();
		archives.end();
		void compaction?.close();
		void service.close().finally(() => process.exit(0));
	};
	process.once("SIGTERM", leave);
	process.once("SIGINT", leave);
	process.once("SIGHUP", leave);
}
