import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { PolicySource } from "../config/create-policy-source.ts";
import type { Log } from "../pipeline/log-event.ts";
import { describePolicy } from "../policy/describe-policy.ts";
import type { Policy } from "../policy/schema.ts";
import { version } from "../version.ts";
import { bindLogging } from "./bind-logging.ts";
import { bindResources } from "./bind-resources.ts";
import { bindTools } from "./bind-tools.ts";
import type { Tool } from "./tool.ts";
import { guardContext } from "./tools/guard-context.ts";
import { maskConversation } from "./tools/mask-conversation.ts";
import { truncateOutput } from "./tools/truncate-output.ts";

/** Every tool, in the order in which clients list them. */
export const tools: readonly Tool[] = [maskConversation, guardContext, truncateOutput];

/** What a server is made from. */
export interface ServerOptions {
	readonly policySource: PolicySource;
	/** Takes each event beside the client, for the operator's log. */
	readonly log: Log;
}

/**
 * Makes an MCP server for one client, with no transport yet. One process may run many: they share nothing but the policy
 * source.
 */
export function createServer({ policySource, log }: ServerOptions): McpServer {
	const server = new McpServer(
		{ name: "palimpsest", title: "Palimpsest", version },
		{ instructions: instructions(policySource.current()) },
	);
	const logToClient = bindLogging(server, () => policySource.current().log_level);
	const logToBoth: Log = (event) => {
		log(event);
		logToClient(event);
	};
	bindTools(server, tools, () => ({ layers: policySource.layers(), log: logToBoth }));
	const stopListening = bindResources(server, policySource);
	server.server.onclose = stopListening;
	return server;
}

function instructions(policy: Policy): string {
	return [
		"Palimpsest keeps an agent's context small without breaking it.",
		"Between turns, mask_conversation replaces old tool results by placeholders; guard_context makes a conversation fit the model's window; truncate_output cuts one large text.",
		'A placeholder says that an old tool result was left out on purpose: no error. Ask for respond_with "edits" to pay for changes only.',
		describePolicy(policy),
	].join("\n");
}
