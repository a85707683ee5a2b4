import type { JsonObject } from "../../engine/conversation/json.ts";
import { objectOf, objectsOf } from "../../formats/json-text/value.ts";
import { usageOf } from "../../proxy/billing/usage-fields.ts";
import { type AdapterOptions, createAdapter, type FrameworkRequest, sayingError } from "./adapter.ts";

export type { AdapterOptions };

/** The members of a request of a middleware that are used here. */
interface ModelRequest {
	readonly messages: readonly object[];
	readonly model: unknown;
	readonly tools: readonly unknown[];
	readonly systemMessage?: unknown;
	readonly modelSettings?: unknown;
}

/**
 * A middleware for `createAgent` of LangChain 1.5 and for deepagents, with tools for the agent. It edits the messages of each call of
 * the model; the state of the agent and its checkpoints keep them whole. Put it last, next to the model, so that it edits what
 * the other middlewares send. As with every middleware around that call, an error of the model reaches your program as the `cause` of
 * LangChain's own error.
 *
 * ```js
 * const agent = createAgent({ model, tools, middleware: [palimpsest()] });
 * ```
 */
export function palimpsest(options: AdapterOptions = {}) {
	const { call, tools, settled } = createAdapter("langchain", options);
	return {
		// As `createMiddleware` makes it (`MIDDLEWARE_BRAND`).
		[Symbol.for("AgentMiddleware")]: true,
		name: "palimpsest",
		wrapModelCall<Request extends ModelRequest, Answer extends object>(
			request: Request,
			handler: (request: Request) => PromiseLike<Answer> | Answer,
		): Promise<Answer> {
			const provider = providerOf(request.model);
			const plain = request.messages.map((message, index) => plainMessage(message, index, provider));
			return call(requestOf(request, plain, provider), async (edited = plain, answered) => {
				const answer = await handler({ ...request, messages: withEdits(request.messages, edited) });
				answered(usageIn(answer));
				return answer;
			});
		},
		// What `bindTools` and the agent's tool node read of a tool.
		tools: tools.map(({ name, description, parameters: schema, run }) => ({
			...{ name, description, schema, lc_runnable: true as const },
			invoke: (call: { readonly args?: unknown }) => run(call.args),
		})),
		/** Resolves once the work beside the last call has ended. */
		settled,
	};
}

/** The number of a message in the request, since one may be left out. */
const place = Symbol("place");

/** A message as a plain object with what models are sent of it. The class for Anthropic's API sends no flag of an error. */
function plainMessage(message: object, index: number, provider: string) {
	const { type, role, content, tool_calls, invalid_tool_calls, additional_kwargs, ...others } = message as JsonObject;
	const { tool_call_id, status, usage_metadata, response_metadata } = others;
	const calls = { tool_calls, invalid_tool_calls, additional_kwargs };
	const isLost = status === "error" && typeof content === "string" && /anthropic/i.test(provider);
	const shown = isLost ? sayingError(content) : content;
	return {
		type,
		role,
		content: shown,
		...calls,
		tool_call_id,
		status,
		usage_metadata,
		response_metadata,
		[place]: index,
	};
}

function providerOf(model: unknown): string {
	return `${objectOf(objectOf(model)._defaultConfig).modelProvider} ${Object(model).constructor?.name}`;
}

function requestOf(request: ModelRequest, messages: readonly object[], provider: string): FrameworkRequest {
	const { model, systemMessage, modelSettings, tools } = request;
	const { model: name, modelName, modelId, _defaultConfig: configured } = objectOf(model);
	const { model: later } = objectOf(configured);
	const system = objectOf(systemMessage).content;
	const ofParts = [...messages, { content: system }].flatMap((message) => objectsOf(objectOf(message).content));
	const marks = ofParts.flatMap((part) => part.cache_control ?? part.cachePoint ?? []);
	return {
		format: "langchain",
		messages,
		system,
		tools: tools.map((tool) => ({ name: objectOf(tool).name, description: objectOf(tool).description })),
		provider,
		model: [name, modelName, modelId, later].find((one) => typeof one === "string" && one !== "") as string | undefined,
		cacheControl: objectOf(modelSettings).cache_control ?? marks.at(-1),
	};
}

/** The messages with the contents that were edited. The others are the very same objects, and copies keep their class. */
function withEdits(messages: readonly object[], edited: readonly unknown[]): object[] {
	return edited.map((one) => {
		const { content, [place]: index } = one as { readonly content: unknown; readonly [place]: number };
		const message = messages[index] as JsonObject;
		if (content === message.content) return message;
		const kwargs = { lc_kwargs: { ...objectOf(message.lc_kwargs), content } };
		return Object.assign(Object.create(Object.getPrototypeOf(message)), message, { content }, kwargs);
	});
}

/** Some of its classes count what the cache read and wrote among the input, others beside it. */
function usageIn(answer: object) {
	const { usage_metadata, messages } = answer as JsonObject;
	const usage = objectOf(usage_metadata ?? objectsOf(messages)[0]?.usage_metadata);
	const { input_tokens, output_tokens, total_tokens, input_token_details } = usage;
	const { cache_read: read, cache_creation: written } = objectOf(input_token_details);
	const cached = { cache_read_input_tokens: read, cache_creation_input_tokens: written };
	return usageOf({ input_tokens, output_tokens, total_tokens, ...cached }, "openai");
}
