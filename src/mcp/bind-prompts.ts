import { completable } from "@modelcontextprotocol/sdk/server/completable.js";
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { ErrorCode, McpError } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import { compact } from "./prompts/compact.ts";
import { contextReport } from "./prompts/context-report.ts";
import type { Prompt, PromptArgument } from "./prompts/prompt.ts";

/** Every prompt, in the order in which clients list them. */
const prompts: readonly Prompt[] = [compact, contextReport];

/** The longest argument, in UTF-16 code units: it becomes part of what a model reads. */
const longestArgument = 4_000;

/** Offers the prompts on a server, with completions of their arguments. */
export function bindPrompts(server: McpServer): void {
	for (const { name, title, description, arguments: named, write } of prompts) {
		const argsSchema = Object.fromEntries(Object.entries(named).map(([key, one]) => [key, schemaOf(one)]));
		server.registerPrompt(name, { title, description, argsSchema }, (given) => {
			refuseLong(given);
			return { description, messages: [{ role: "user", content: { type: "text", text: write(given) } }] };
		});
	}
	// The list never changes, so the SDK's `listChanged: true` would promise what never comes.
	server.server.registerCapabilities({ prompts: { listChanged: false } });
}

function refuseLong(given: Readonly<Record<string, string | undefined>>): void {
	for (const [name, text = ""] of Object.entries(given)) {
		if (text.length <= longestArgument) continue;
		const expected = `expected a text of at most ${longestArgument} characters, got one of ${text.length}`;
		throw new McpError(ErrorCode.InvalidParams, `${name}: ${expected}`);
	}
}

function schemaOf({ description, complete }: PromptArgument) {
	const schema = z.string();
	if (!complete) return schema.optional().describe(description);
	// The SDK looks for completions inside of what is optional when it offers them, and outside when it answers.
	const inner = completable(schema, (typed) => complete(typed));
	return completable(inner.optional().describe(description), (typed) => complete(typed ?? ""));
}
