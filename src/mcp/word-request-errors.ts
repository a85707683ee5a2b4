import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { CallToolRequestSchema, ErrorCode, McpError } from "@modelcontextprotocol/sdk/types.js";
import type { z } from "zod";
import { describeIssues } from "../policy/errors.ts";

type Handle = (request: unknown, extra: unknown) => Promise<unknown>;

/**
 * Answers requests that are none of the protocol's shape with `InvalidParams` and words of ours. The SDK checks every request
 * before its handler sees it, and answers with zod's issues as JSON. Call it once all handlers are set.
 */
export function wordRequestErrors(server: McpServer): void {
	// The SDK has no public way to take part in its check.
	const { _requestHandlers: handlers } = server.server as unknown as { _requestHandlers: Map<string, Handle> };
	for (const [method, handle] of handlers) {
		// An async function, since the check throws before the handler's promise is made.
		handlers.set(method, async (request, extra) => {
			try {
				return await handle(request, extra);
			} catch (error) {
				throw worded(error, request);
			}
		});
	}
}

function worded(error: unknown, request: unknown): unknown {
	const issues = issuesOf(error) ?? issuesInToolCall(error, request);
	if (issues) return new McpError(ErrorCode.InvalidParams, describeIssues(issues, { root: request }).join("; "));
	return error;
}

function issuesOf(error: unknown): readonly z.core.$ZodIssue[] | undefined {
	if (!(error instanceof Error) || !("issues" in error) || !Array.isArray(error.issues)) return undefined;
	return error.issues;
}

/** The SDK turns what it finds in a call of a tool into a text before anybody can see it. */
function issuesInToolCall(error: unknown, request: unknown): readonly z.core.$ZodIssue[] | undefined {
	if (!(error instanceof McpError) || !error.message.includes("Invalid tools/call request")) return undefined;
	return CallToolRequestSchema.safeParse(request).error?.issues;
}
