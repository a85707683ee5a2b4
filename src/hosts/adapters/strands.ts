import type { JsonObject } from "../../engine/conversation/json.ts";
import { objectOf } from "../../formats/json-text/value.ts";
import { usageOf } from "../../proxy/billing/usage-fields.ts";
import { type AdapterOptions, createAdapter, refusalIn } from "./adapter.ts";

export type { AdapterOptions };

/** A message of the SDK. */
interface StrandsMessage {
	readonly toJSON: () => object;
}

/** What the middleware of a call of the model gets. */
interface Context<Message extends StrandsMessage> {
	readonly model: object;
	readonly messages: readonly Message[];
	readonly systemPrompt?: unknown;
	readonly toolSpecs: readonly object[];
}

/** What is used of `@strands-agents/sdk`. */
interface Sdk<Message extends StrandsMessage, Tool> {
	readonly InvokeModelStage: unknown;
	readonly Message: { readonly fromJSON: (data: never) => Message };
	readonly FunctionTool: new (config: {
		readonly name: string;
		readonly description: string;
		readonly inputSchema: never;
		readonly callback: (input: unknown) => Promise<string>;
	}) => Tool;
}

/**
 * A plugin for agents of the Strands Agents SDK (1.19), which also brings tools for the agent. It edits the messages of each call of the
 * model; the agent and its sessions keep them whole.
 *
 * ```js
 * import * as strands from "@strands-agents/sdk";
 * const agent = new strands.Agent({ model, tools, plugins: [palimpsest(strands)] });
 * ```
 */
export function palimpsest<Message extends StrandsMessage, Tool>(
	sdk: Sdk<Message, Tool>,
	options: AdapterOptions = {},
) {
	const { edit, tools, settled } = createAdapter("strands", options);

	async function* aroundModel<Called extends Context<Message>, Event, Result>(
		context: Called,
		next: (context: Called) => AsyncGenerator<Event, Result, undefined>,
	): AsyncGenerator<Event, Result, undefined> {
		const plain = context.messages.map((message) => message.toJSON());
		const edited = await edit(requestOf(context, plain));
		const { written } = edited ?? {};
		let hasBegun = false;
		try {
			const events = next(written ? { ...context, messages: withEdits(context.messages, plain, written) } : context);
			let event = await events.next();
			while (!event.done) {
				hasBegun = true;
				yield event.value;
				event = await events.next();
			}
			void edited?.answered(usageIn(event.value));
			return event.value;
		} catch (error) {
			if (!edited || !written || hasBegun || refusalIn(error) === undefined) throw error;
			// Our edits may be the reason, so the messages go out whole.
			edited.refused();
			return yield* next(context);
		}
	}

	/** The others are the very same objects. */
	function withEdits(messages: readonly Message[], plain: readonly object[], written: readonly unknown[]): Message[] {
		const places = new Map(plain.map((one, index) => [one as unknown, index]));
		return written.map((one) => messages[places.get(one) ?? -1] ?? sdk.Message.fromJSON(one as never));
	}

	return {
		name: "palimpsest",
		initAgent(agent: object): void {
			const { addMiddleware } = agent as { addMiddleware: (stage: unknown, handler: unknown) => unknown };
			addMiddleware.call(agent, sdk.InvokeModelStage, aroundModel);
		},
		getTools: (): Tool[] =>
			tools.map(({ name, description, parameters, run: callback }) => {
				return new sdk.FunctionTool({ name, description, inputSchema: parameters as never, callback });
			}),
		/** Resolves once the work beside the last call has ended. */
		settled,
	};
}

function requestOf({ model, systemPrompt, toolSpecs }: Context<StrandsMessage>, messages: readonly object[]) {
	const name = (model as { readonly modelId?: unknown }).modelId;
	return {
		...{ format: "bedrock-converse", messages, system: systemPrompt, tools: toolSpecs as readonly JsonObject[] },
		provider: model.constructor.name,
		model: typeof name === "string" ? name : undefined,
		cacheControl: cachePoint(model, messages),
	};
}

/** The mark that asks Bedrock to cache. */
function cachePoint(model: object, messages: readonly object[]): unknown {
	const { getConfig } = model as { readonly getConfig?: () => unknown };
	const { cachePrompt, cacheConfig } = objectOf(getConfig?.call(model));
	const parts = messages.flatMap((message) => objectOf(message).content ?? []);
	return (
		cachePrompt ?? cacheConfig ?? parts.map((part) => objectOf(part).cachePoint).findLast((one) => one !== undefined)
	);
}

/** Some of its models count what the cache read and wrote among the input, others beside it. */
function usageIn(answer: unknown) {
	const { usage } = objectOf(objectOf(objectOf(answer).result).metadata);
	const { inputTokens, outputTokens, totalTokens, cacheReadInputTokens, cacheWriteInputTokens } = objectOf(usage);
	const cached = {
		cache_read_input_tokens: cacheReadInputTokens,
		cache_creation_input_tokens: cacheWriteInputTokens,
	};
	const counts = { input_tokens: inputTokens, output_tokens: outputTokens, total_tokens: totalTokens, ...cached };
	return usageOf(counts, "openai");
}
