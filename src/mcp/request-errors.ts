import type { z } from "zod";
import { describeIssues } from "../policy/errors.ts";
import { invalidParams, RequestError } from "./answer.ts";

type Handle = (request: unknown, extra: unknown) => Promise<unknown>;

/**
 * The SDKs check requests before their handlers and answer with zod's issues; they are told in our words. `made` makes an
 * error of the SDK, also of ours. Call this once all handlers are set.
 */
export function describeRequestErrors(server: object, made: (code: number, message: string) => Error): void {
	// The SDKs have no public way to take part in their check.
	const { _requestHandlers: handlers } = server as { _requestHandlers: Map<string, Handle> };
	for (const [method, handle] of handlers) {
		// Async, since the check throws before the handler's promise is made.
		handlers.set(method, async (request, extra) => {
			try {
				return await handle(request, extra);
			} catch (error) {
				if (error instanceof RequestError) throw made(error.code, error.message);
				const issues = issuesOf(error);
				if (!issues) throw error;
				throw made(invalidParams, describeIssues(issues, { root: request }).join("; "));
			}
		});
	}
}

function issuesOf(error: unknown): readonly z.core.$ZodIssue[] | undefined {
	// Some of zod's errors are no `Error`.
	if (typeof error === "object" && error !== null && "issues" in error && Array.isArray(error.issues))
		return error.issues;
	if (!(error instanceof Error)) return undefined;
	// The SDKs turn some issues into a text before anybody else can see them.
	const [, json] =
		/^(?:(?:MCP error -\d+: )?Invalid tools\/call request: )?(\[\s*\{[\s\S]*\])$/.exec(error.message) ?? [];
	try {
		return json === undefined ? undefined : JSON.parse(json);
	} catch {
		return undefined;
	}
}
