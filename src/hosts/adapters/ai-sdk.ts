import type { JsonObject } from "../../engine/conversation/json.ts";
import { listOf, objectOf, objectsOf } from "../../formats/json-text/value.ts";
import type { Usage } from "../../proxy/billing/usage.ts";
import { tokensIn } from "../../proxy/billing/usage-fields.ts";
import { type Adapter, type AdapterOptions, createAdapter, type FrameworkRequest, sayingError } from "./adapter.ts";

export type { AdapterOptions };

/** The members of a model, of versions 2 to 4 of its specification, that are used here. */
interface Model<Params, Answer, Streamed> {
	readonly provider: string;
	readonly modelId: string;
	readonly doGenerate: (params: Params) => PromiseLike<Answer>;
	readonly doStream: (params: Params) => PromiseLike<Streamed>;
}

/**
 * A middleware for `wrapLanguageModel` of the AI SDK (`ai` 6 and 7), with `tools` for the agent. It edits the prompt of each call of
 * the model, so it also serves frameworks that call models of the AI SDK. It changes nothing that the SDK or your program stores.
 *
 * ```js
 * const context = palimpsest();
 * const model = wrapLanguageModel({ model: openai("gpt-5.2"), middleware: context });
 * await generateText({ model, tools: { ...yourTools, ...context.tools }, … });
 * ```
 */
export function palimpsest(options: AdapterOptions = {}) {
	const { call, tools, settled } = createAdapter("ai-sdk", options);
	return {
		/** Version 7 of the SDK takes it, too. */
		specificationVersion: "v3" as const,
		wrapGenerate<Params extends object, Answer extends object, Streamed>({
			params,
			model,
		}: {
			readonly params: Params;
			readonly model: Model<Params, Answer, Streamed>;
		}): Promise<Answer> {
			const request = requestOf(params, model);
			return call(request, async (prompt = request.messages, answered) => {
				const answer = await model.doGenerate({ ...params, prompt });
				answered(usageOf(objectOf(answer).usage));
				return answer;
			});
		},
		wrapStream<Params extends object, Answer, Streamed extends { stream: ReadableStream }>({
			params,
			model,
		}: {
			readonly params: Params;
			readonly model: Model<Params, Answer, Streamed>;
		}): Promise<Streamed> {
			const request = requestOf(params, model);
			return call(request, async (prompt = request.messages, answered) => {
				const answer = await model.doStream({ ...params, prompt });
				const watch = new TransformStream({
					transform(part, controller) {
						controller.enqueue(part);
						if (objectOf(part).type === "finish") answered(usageOf(objectOf(part).usage));
					},
				});
				return { ...answer, stream: answer.stream.pipeThrough(watch) };
			});
		},
		/** For the agent: reading what is masked, and asking for masking. */
		tools: toolSet(tools),
		/** Resolves once the work beside the last call has ended. */
		settled,
	};
}

export function requestOf(
	params: object,
	{ provider, modelId }: { provider: string; modelId: string },
): FrameworkRequest {
	const { prompt, tools, providerOptions } = params as JsonObject;
	// Bedrock's class sends no flag of an error.
	const messages = provider === "amazon-bedrock" ? listOf(prompt).map(withErrorsSaid) : listOf(prompt);
	const cacheControl = lastMark(messages) ?? markIn({ providerOptions });
	return { format: "vercel-model", messages, tools: objectsOf(tools), provider, model: modelId, cacheControl };
}

/** The same message if none of its results has failed. */
function withErrorsSaid(message: unknown): unknown {
	const { role, content } = objectOf(message);
	if (role !== "tool") return message;
	const said = listOf(content).map((part) => {
		const { type, value } = objectOf(objectOf(part).output);
		if (type !== "error-text" && type !== "error-json") return part;
		const text = typeof value === "string" ? value : JSON.stringify(value);
		return {
			...objectOf(part),
			output: { ...objectOf(objectOf(part).output), type: "error-text", value: sayingError(text) },
		};
	});
	return said.every((part, index) => part === listOf(content)[index])
		? message
		: { ...objectOf(message), content: said };
}

/** The last part or message that asks the provider to cache what stands before it. */
function lastMark(messages: readonly unknown[]): unknown {
	for (let index = messages.length - 1; index >= 0; index -= 1) {
		const message = objectOf(messages[index]);
		const mark =
			markIn(message) ??
			objectsOf(message.content)
				.map(markIn)
				.findLast((one) => one !== undefined);
		if (mark !== undefined) return mark;
	}
	return undefined;
}

/** Of Anthropic and gateways, of Bedrock, and of Vercel's gateway, which sets marks itself. */
function markIn({ providerOptions }: JsonObject): unknown {
	const ofProviders = objectsOf(Object.values(objectOf(providerOptions)));
	return ofProviders
		.map((one) => one.cacheControl ?? one.cache_control ?? one.cachePoint ?? (one.caching === "auto" ? {} : undefined))
		.find((mark) => mark !== undefined);
}

/** Since version 3 of the specification, counts have parts; `total` holds what was read and written. */
export function usageOf(usage: unknown): Usage | undefined {
	const { inputTokens, outputTokens, cachedInputTokens } = objectOf(usage);
	const [given, output] = [objectOf(inputTokens), objectOf(outputTokens)];
	const cacheRead = tokensIn(given.cacheRead ?? cachedInputTokens);
	const cacheWrite = tokensIn(given.cacheWrite);
	const input = Math.max(0, tokensIn(given.noCache ?? tokensIn(given.total ?? inputTokens) - cacheRead - cacheWrite));
	const counts = { input, cacheRead, cacheWrite, output: tokensIn(output.total ?? outputTokens) };
	return input + cacheRead + cacheWrite === 0 ? undefined : counts;
}

/** Tools as the SDK and frameworks on it take them. */
export function toolSet(tools: Adapter["tools"]) {
	return Object.fromEntries(
		tools.map(({ name, description, parameters, run }) => {
			return [name, { description, inputSchema: schemaOf(parameters), execute: run }];
		}),
	);
}

/** A JSON Schema as a Standard JSON Schema (standardschema.dev), which the SDK takes since version 6. */
function schemaOf(parameters: JsonObject) {
	const jsonSchema = { input: () => parameters, output: () => parameters };
	const validate = (value: unknown) => ({ value: objectOf(value) });
	return { "~standard": { version: 1, vendor: "palimpsest", validate, jsonSchema } } as const;
}
