import { completable } from "@modelcontextprotocol/sdk/server/completable.js";
import { McpServer, ResourceTemplate } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { RequestHandlerExtra } from "@modelcontextprotocol/sdk/shared/protocol.js";
import {
	CallToolRequestSchema,
	ErrorCode,
	ListToolsRequestSchema,
	type LoggingLevel,
	McpError,
	type ServerNotification,
	type ServerRequest,
	SetLevelRequestSchema,
	SubscribeRequestSchema,
	UnsubscribeRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/sdk/validation/ajv-provider.js";
import { z } from "zod";
import { logLevels } from "../engine/policy/names.ts";
import type { Log } from "../log.ts";
import type { PolicySource } from "../operations/config/config.ts";
import type { SamplingOptions } from "../operations/summariser/sampling.ts";
import { joinSignals, type Summariser } from "../operations/summariser/summariser.ts";
import { describeRequestErrors } from "./answer.ts";
import {
	createOffer,
	createToolCaller,
	type OfferedTools,
	rootFolders,
	rootsListed,
	type ServerOptions,
	toolDefinition,
} from "./offer.ts";
import { bindPrompts, currentPolicyUri, type Resource, resourcesOf } from "./resources.ts";
import { callProgress, type ToolContext } from "./tool.ts";

/** The server of the revisions up to 2025-11-25. */
export function createServer(options: ServerOptions): McpServer {
	const { policySource, log, onlyAnswers, clientGone } = options;
	const { serverInfo, instructions, contextOf, ...offer } = createOffer(options);
	const server = new McpServer(serverInfo, {
		instructions,
		// Made at its first use: it compiles Ajv's schemas, and our servers never ask clients for elicitation.
		jsonSchemaValidator: { getValidator: (schema) => new AjvJsonSchemaValidator().getValidator(schema) },
	});
	const logToClient = onlyAnswers ? undefined : bindLogging(server, () => policySource.current().log_level);
	const logToBoth: Log = (event) => {
		log(event);
		logToClient?.(event);
	};
	const roots = options.sharesFiles ? clientRoots(server, clientGone) : async () => [];
	bindTools(server, {
		...options,
		...offer,
		callContext: (call) =>
			contextOf({
				log: logToBoth,
				roots,
				onProgress: callProgress({ ...call, progressToken: call._meta?.progressToken }),
				clientModel: clientModel(server, call, clientGone),
			}),
	});
	bindPrompts(completable, (name, config, write) => server.registerPrompt(name, config, write));
	bindResources(server, resourcesOf(options));
	// Both lists never change, but the SDK would declare `listChanged: true`.
	server.server.registerCapabilities({
		prompts: { listChanged: false },
		resources: { subscribe: !onlyAnswers, listChanged: false },
	});
	if (!onlyAnswers) server.server.onclose = bindSubscriptions(server, policySource);
	describeRequestErrors(server.server, (code, message) => new McpError(code, message));
	return server;
}

/** For everything that waits for a client whose input has ended. */
export function connectionClosed(): McpError {
	return new McpError(ErrorCode.ConnectionClosed, "Standard input ended");
}

/** Offers MCP logging from the client's level on, by default the policy's. */
function bindLogging(server: McpServer, policyLevel: () => LoggingLevel): Log {
	let clientLevel: LoggingLevel | undefined;
	server.server.registerCapabilities({ logging: {} });
	server.server.setRequestHandler(SetLevelRequestSchema, ({ params }) => {
		clientLevel = params.level;
		return {};
	});
	return ({ level, message, data }) => {
		if (logLevels.indexOf(level) < logLevels.indexOf(clientLevel ?? policyLevel()) || !server.isConnected()) return;
		server.server.sendLoggingMessage({ level, logger: "palimpsest", data: { message, ...data } }).catch(() => {});
	};
}

/** The SDK's own binding would answer bad input in its own words; here it becomes a tool error. */
function bindTools(
	server: McpServer,
	options: OfferedTools & {
		readonly callContext: (call: RequestHandlerExtra<ServerRequest, ServerNotification>) => ToolContext;
	},
): void {
	const listed = options.tools.map(toolDefinition);
	const callTool = createToolCaller(options);
	server.server.registerCapabilities({ tools: {} });
	server.server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: listed }));
	server.server.setRequestHandler(CallToolRequestSchema, ({ params }, extra) => {
		const { signal, requestId: id, sessionId: session } = extra;
		return callTool({ params, id, session, context: { ...options.callContext(extra), signal } });
	});
}

function bindResources(server: McpServer, resources: readonly Resource[]): void {
	for (const { name, uri, template, about, read } of resources) {
		if (!template) server.registerResource(name, uri, about, (asked) => read(asked, {}));
		else {
			const { list, complete = {} } = template;
			server.registerResource(name, new ResourceTemplate(uri, { list, complete }), about, read);
		}
	}
}

/** Returns the function that stops listening for changes. */
function bindSubscriptions(server: McpServer, policySource: PolicySource): () => void {
	// Only this resource changes, so only it is remembered: a client may subscribe to any number of names.
	let isSubscribed = false;
	for (const schema of [SubscribeRequestSchema, UnsubscribeRequestSchema]) {
		server.server.setRequestHandler(schema, ({ params }) => {
			if (params.uri === currentPolicyUri) isSubscribed = schema === SubscribeRequestSchema;
			return {};
		});
	}
	return policySource.onChange(() => {
		if (!isSubscribed || !server.isConnected()) return;
		server.server.sendResourceUpdated({ uri: currentPolicyUri }).catch(() => {});
	});
}

const rootsListChanged = z.looseObject({ method: z.literal("notifications/roots/list_changed") });

/** The folders of the client's roots. Asks once, and again after the client announces a change. */
function clientRoots(server: McpServer, gone?: AbortSignal): () => Promise<readonly string[]> {
	let known: Promise<readonly string[]> | undefined;
	server.server.setNotificationHandler(rootsListChanged, () => {
		known = undefined;
	});
	const ask = async (): Promise<readonly string[]> => {
		if (!server.server.getClientCapabilities()?.roots) return [];
		try {
			const options = { timeout: 10_000, ...(gone ? { signal: gone } : {}) };
			return rootFolders(await server.server.request({ method: "roots/list" }, rootsListed, options));
		} catch {
			// A client that does not answer allows nothing; the next call asks again.
			known = undefined;
			return [];
		}
	};
	return () => {
		known ??= ask();
		return known;
	};
}

/** Makes a summariser of the client's own model, if it has one. `gone` ends the wait for an answer. */
function clientModel(
	server: McpServer,
	extra: Pick<RequestHandlerExtra<ServerRequest, ServerNotification>, "sendRequest">,
	gone: AbortSignal | undefined,
): (() => Promise<Summariser>) | undefined {
	if (!server.server.getClientCapabilities()?.sampling) return undefined;
	const createMessage: SamplingOptions["createMessage"] = async (params, { signal, timeoutMs }) => {
		const joined = joinSignals(signal, gone);
		const options = { signal: joined.signal, timeout: timeoutMs, maxTotalTimeout: timeoutMs };
		const asked = extra.sendRequest({ method: "sampling/createMessage", params }, z.looseObject({}), options);
		return asked.finally(joined.release);
	};
	return async () => (await import("../operations/summariser/sampling.ts")).createSamplingSummariser({ createMessage });
}
