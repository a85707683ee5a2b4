import { createHash, randomBytes } from "node:crypto";
import {
	CLIENT_CAPABILITIES_META_KEY,
	completable,
	createRequestStateCodec,
	inputRequired,
	type ListToolsResult,
	McpServer,
	ProtocolError,
	type RequestStateCodec,
	ResourceTemplate,
	type ServerContext,
	type Transport,
} from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { compactJson, isJsonObject, type JsonObject } from "../engine/conversation/json.ts";
import type { Log } from "../log.ts";
import type { SamplingRequest } from "../operations/summariser/sampling.ts";
import { joinSignals, type Summariser } from "../operations/summariser/summariser.ts";
import { describeRequestErrors } from "./answer.ts";
import { createOffer, createToolCaller, rootFolders, type ServerOptions, toolDefinition } from "./offer.ts";
import { bindPrompts, currentPolicyUri, listCache, resourcesOf } from "./resources.ts";
import { callProgress } from "./tool.ts";

/** A person may read a request for a summary before the client answers it. */
const stateSeconds = 3_600;

/** Signs the state that a client carries from one round of a call to the next, and binds it to its principal. */
export function createStateCodec(key: string | Uint8Array): RequestStateCodec<RoundState> {
	const bind = ({ http }: ServerContext) => http?.authInfo?.clientId ?? "";
	return createRequestStateCodec<RoundState>({ key, ttlSeconds: stateSeconds, bind });
}

/** The server of revision 2026-07-28: of one connection on standard input and output, of one request over HTTP. */
export function createServer2026(options: ServerOptions, states: RequestStateCodec<RoundState>): McpServer {
	const { log } = options;
	const { serverInfo, instructions, contextOf, ...offer } = createOffer(options);
	const server = new McpServer(serverInfo, {
		instructions,
		capabilities: {
			tools: { listChanged: false },
			prompts: { listChanged: false },
			resources: { listChanged: false, subscribe: true },
			logging: {},
		},
		cacheHints: {
			"tools/list": listCache,
			"prompts/list": listCache,
			"resources/list": listCache,
			"resources/templates/list": listCache,
		},
		requestState: { verify: states.verify },
		// Nothing that a client sends is checked by a JSON Schema of ours.
		jsonSchemaValidator: {
			getValidator() {
				throw new TypeError("Expected no JSON Schema to check.");
			},
		},
	});
	const callTool = createToolCaller({ ...options, ...offer });
	const listed = offer.tools.map((tool) => toolDefinition(tool) as ListToolsResult["tools"][number]);
	server.server.setRequestHandler("tools/list", () => ({ tools: listed }));
	server.server.setRequestHandler("tools/call", async ({ params }, call) => {
		const { id, signal, _meta, envelope, inputResponses } = call.mcpReq;
		const state = call.mcpReq.requestState<RoundState>();
		const rounds = createRounds({
			capabilities: (envelope as JsonObject | undefined)?.[CLIENT_CAPABILITIES_META_KEY],
			state: typeof state === "object" ? state : undefined,
			responses: inputResponses,
		});
		const joined = joinSignals(signal, rounds.signal);
		const logToBoth: Log = (event) => {
			log(event);
			// At the level of the request, without which nothing is sent.
			call.mcpReq.log(event.level, { message: event.message, ...event.data }, "palimpsest").catch(() => {});
		};
		const context = contextOf({
			log: logToBoth,
			roots: rounds.roots,
			clientModel: rounds.clientModel,
			onProgress: callProgress({ progressToken: _meta?.progressToken, sendNotification: call.mcpReq.notify }),
		});
		try {
			const isAsking = () => rounds.questions() !== undefined;
			const result = await callTool({ params, id, context: { ...context, signal: joined.signal }, isAsking });
			const questions = rounds.questions();
			if (!questions) return result;
			const requestState = await states.mint(questions.state, call);
			return inputRequired({ inputRequests: questions.requests, requestState });
		} finally {
			joined.release();
		}
	});
	bindPrompts(completable, (name, config, write) => server.registerPrompt(name, config, write));
	for (const { name, uri, template, about, cache, read } of resourcesOf(options)) {
		const config = { ...about, cacheHint: cache };
		if (!template) server.registerResource(name, uri, config, (asked) => read(asked, {}));
		else {
			const { list, complete = {} } = template;
			server.registerResource(name, new ResourceTemplate(uri, { list, complete }), config, read);
		}
	}
	describeRequestErrors(server.server, (code, message) => new ProtocolError(code, message));
	return server;
}

/** Serves one connection that begins with a request of revision 2026-07-28. A client may still go back to a handshake. */
export function serveConnection2026(
	options: ServerOptions,
	connection: {
		readonly transport: Transport;
		/** The server of the other era, on demand. */
		readonly older: () => Promise<{ connect(transport: Transport): Promise<void>; close(): Promise<void> }>;
		readonly onerror: (error: Error) => void;
	},
): { close(): Promise<void> } {
	const { transport, older, onerror } = connection;
	const states = createStateCodec(randomBytes(32));
	const factory = async ({ era }: { readonly era: "modern" | "legacy" }) => {
		if (era === "legacy") return (await older()) as unknown as McpServer;
		const server = createServer2026(options, states);
		server.server.onclose = options.policySource.onChange(() => {
			// The SDK sends it to whoever listens.
			server.server.sendResourceUpdated({ uri: currentPolicyUri }).catch(() => {});
		});
		return server;
	};
	return serveStdio(factory, { transport, onerror });
}

/** A question to a client. Its answer comes back under the name of the question. */
type Asked = { method: "sampling/createMessage"; params: SamplingRequest } | { method: "roots/list" };

/** Travels through the client, which may read it: its own answers so far, and the names of the questions to it. */
type RoundState = { readonly answers: JsonObject; readonly asked: readonly string[] };

interface Rounds {
	/** Aborted when the client has to be asked: the rest of the work would be in vain. */
	readonly signal: AbortSignal;
	readonly clientModel: (() => Promise<Summariser>) | undefined;
	/** The folders that the client offers. */
	readonly roots: () => Promise<readonly string[]>;
	/** `undefined` if the call is done. */
	questions(): { readonly requests: Record<string, Asked>; readonly state: RoundState } | undefined;
}

/**
 * Questions to a client that is not waiting for any: since revision 2026-07-28 a server ends the call with its questions,
 * and the client calls again with the answers. The work is done again from the start. It comes to the same questions, since
 * it depends only on the arguments and the answers.
 */
function createRounds(call: {
	readonly capabilities: unknown;
	readonly state: RoundState | undefined;
	readonly responses: unknown;
}): Rounds {
	const { state, responses } = call;
	const capabilities = isJsonObject(call.capabilities) ? call.capabilities : {};
	const given = isJsonObject(responses) ? responses : {};
	const isNew = (name: string) => given[name] !== undefined;
	const news = (state?.asked ?? []).filter(isNew).map((name) => [name, given[name]] as const);
	const answers: JsonObject = { ...state?.answers, ...Object.fromEntries(news) };
	const controller = new AbortController();
	const open = new Map<string, Asked>();

	const ask = async (asked: Asked): Promise<unknown> => {
		const name = createHash("sha256").update(compactJson(asked)).digest("base64url").slice(0, 22);
		if (Object.hasOwn(answers, name)) return answers[name];
		open.set(name, asked);
		controller.abort(new Error("The client has to be asked first."));
		throw controller.signal.reason;
	};
	const model = async (): Promise<Summariser> => {
		const { createSamplingSummariser } = await import("../operations/summariser/sampling.ts");
		return createSamplingSummariser({ createMessage: (params) => ask({ method: "sampling/createMessage", params }) });
	};
	return {
		signal: controller.signal,
		clientModel: isJsonObject(capabilities.sampling) ? model : undefined,
		roots: async () => (isJsonObject(capabilities.roots) ? rootFolders(await ask({ method: "roots/list" })) : []),
		questions() {
			if (open.size === 0) return undefined;
			return { requests: Object.fromEntries(open), state: { answers, asked: [...open.keys()] } };
		},
	};
}
