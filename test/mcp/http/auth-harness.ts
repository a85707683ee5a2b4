import { onTestFinished } from "vitest";
import { resolvePolicy } from "../../../src/engine/policy/layers.ts";
import type { LogEvent } from "../../../src/log.ts";
import { createAuthentication } from "../../../src/mcp/http/authenticate.ts";
import type { HttpOptions } from "../../../src/mcp/http/server.ts";
import { createPrincipalArchives } from "../../../src/storage/archive/open.ts";
import { type Running, start } from "./harness.ts";

/** Tokens of 32 characters, which is the least. */
export const alice = "a1".repeat(16);
export const bob = "b2".repeat(16);
export const twoTokens = `alice:${alice}\nbob:${bob}\n`;

/** A server that asks for tokens, with an archive in memory for each principal. */
export async function startWithTokens(
	options: Partial<HttpOptions> = {},
	who: Partial<Parameters<typeof createAuthentication>[0]> = { tokensVariable: twoTokens },
): Promise<Running & { readonly authLogged: readonly LogEvent[] }> {
	const authLogged: LogEvent[] = [];
	const authentication = await createAuthentication({ ...who, log: (event) => authLogged.push(event) });
	if (!authentication) throw new Error("Expected an authentication.");
	onTestFinished(authentication.close);
	const location = { where: "memory", namespace: "default" };
	const archives = createPrincipalArchives({ location, policy: () => resolvePolicy([]) });
	const running = await start({ authentication, archiveOf: archives.of, ...options });
	return { ...running, authLogged };
}
