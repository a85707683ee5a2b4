import { metadataHandler } from "@modelcontextprotocol/sdk/server/auth/handlers/metadata.js";
import { type Request, Router } from "express";
import type { Authentication } from "../../auth/create-authentication.ts";
import { refuse } from "./refuse.ts";

const wellKnown = "/.well-known/oauth-protected-resource";
const resources = ["/mcp", "/sse"] as const;

/**
 * The routes under `/.well-known`, which anybody may read: for each transport the protected-resource metadata (RFC 9728)
 * by which MCP clients find the issuer.
 */
export function metadataRoutes(authentication: Authentication | undefined, baseUrl: () => string): Router {
	const router = Router();
	const { issuer, scopes = [] } = authentication ?? {};
	if (issuer !== undefined) {
		const described = (resource: string) => ({
			resource: `${baseUrl()}${resource}`,
			authorization_servers: [issuer],
			bearer_methods_supported: ["header"],
			resource_name: "Palimpsest",
			...(scopes.length === 0 ? {} : { scopes_supported: [...scopes] }),
		});
		for (const resource of resources) {
			router.use(`${wellKnown}${resource}`, (request, response, next) =>
				metadataHandler(described(resource))(request, response, next),
			);
		}
	}
	router.use("/.well-known", (_request, response) => refuse(response, { status: 404, message: "Not found." }));
	return router;
}

/** Where the metadata is of what a request asked for; `undefined` where there is no issuer to be sent to. */
export function metadataUrlOf(authentication: Authentication, baseUrl: () => string) {
	return ({ path }: Request): string | undefined => {
		if (authentication.issuer === undefined) return undefined;
		const resource = /^\/(?:sse|messages)\/?$/i.test(path) ? "/sse" : "/mcp";
		return `${baseUrl()}${wellKnown}${resource}`;
	};
}
