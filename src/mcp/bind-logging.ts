import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { type LoggingLevel, SetLevelRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import type { Log } from "../pipeline/log-event.ts";
import { logLevels } from "../policy/names.ts";

/**
 * Offers MCP logging on a server. Answers with a log that sends each event to the client, from the level that the client
 * has set on, or else from the policy's.
 */
export function bindLogging(server: McpServer, policyLevel: () => LoggingLevel): Log {
	let clientLevel: LoggingLevel | undefined;
	server.server.registerCapabilities({ logging: {} });
	server.server.setRequestHandler(SetLevelRequestSchema, ({ params }) => {
		clientLevel = params.level;
		return {};
	});
	return ({ level, message, data }) => {
		if (logLevels.indexOf(level) < logLevels.indexOf(clientLevel ?? policyLevel()) || !server.isConnected()) return;
		// A client that has gone away in the meantime needs no log.
		server.server.sendLoggingMessage({ level, logger: "palimpsest", data: { message, ...data } }).catch(() => {});
	};
}
