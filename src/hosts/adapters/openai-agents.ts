import type { JsonObject } from "../../engine/conversation/json.ts";
import { listOf, objectOf, objectsOf } from "../../formats/json-text/value.ts";
import { tokensIn } from "../../proxy/billing/usage-fields.ts";
import { type AdapterOptions, createAdapter } from "./adapter.ts";

export interface OpenAiAgentsOptions extends AdapterOptions {
	/** The model of agents that name none, for its prices. */
	readonly model?: string | undefined;
}

/** The members of an agent that are used here. */
interface Agent {
	readonly name: string;
	readonly model?: unknown;
	readonly tools?: readonly unknown[];
	readonly on?: unknown;
}

interface ModelData {
	readonly input: readonly object[];
	readonly instructions?: string;
}

/**
 * A `callModelInputFilter` for a `Runner` of the OpenAI Agents SDK (0.20), with `tools` for its agents. It edits the input of
 * each model call; sessions and run states keep the results whole.
 *
 * ```js
 * const context = palimpsest({ model: "gpt-5.2" });
 * const agent = new Agent({ name, instructions, tools: [...yourTools, ...context.tools] });
 * await new Runner({ callModelInputFilter: context.callModelInputFilter }).run(agent, task);
 * ```
 */
export function palimpsest({ model: usual, ...options }: OpenAiAgentsOptions = {}) {
	const { edit, tools, settled } = createAdapter("openai-agents", options);
	/** By the context of a run: enters the bill of its last request. */
	const waiting = new WeakMap<object, (usage: unknown) => void>();
	const watched = new WeakSet<Agent>();
	const withIds = createIdMemory();
	/** Only events of an agent tell the usage of its requests. */
	const watch = (agent: Agent) => {
		if (watched.has(agent) || typeof agent.on !== "function") return;
		watched.add(agent);
		const told = (run: unknown) => {
			const { context, usage } = objectOf(run);
			const enter = waiting.get(context as object);
			waiting.delete(context as object);
			enter?.(objectsOf(objectOf(usage).requestUsageEntries).at(-1));
		};
		for (const event of ["agent_tool_start", "agent_end"]) agent.on(event, told);
	};
	return {
		async callModelInputFilter<Data extends ModelData>(call: {
			readonly modelData: Data;
			readonly agent: Agent;
			readonly context?: unknown;
		}): Promise<Data> {
			const { modelData, agent, context } = call;
			const { name, ofProvider } = modelOf(agent, usual);
			const input = modelData.input.map(withIds);
			const given = { ...modelData, input };
			const edited = await edit({
				format: "openai-agents",
				messages: input,
				system: modelData.instructions,
				tools: listOf(agent.tools).map((tool) => ({
					name: objectOf(tool).name,
					description: objectOf(tool).description,
					parameters: objectOf(tool).parameters,
				})),
				provider: ofProvider,
				model: name,
			});
			if (!edited) return given;
			if (typeof context === "object" && context !== null) {
				watch(agent);
				waiting.set(context, (usage) => void edited.answered(usageOf(usage)));
			} else void edited.answered(undefined);
			return edited.written ? { ...modelData, input: edited.written as Data["input"] } : given;
		},
		/** As `tool()` of the SDK makes them. */
		tools: tools.map(({ name, description, parameters, run }) => ({
			type: "function" as const,
			...{ name, description, parameters: parameters as never, strict: false },
			deferLoading: false,
			invoke: (_: unknown, input: string) => run(argumentsOf(input)),
			needsApproval: async () => false,
			isEnabled: async () => true,
			timeoutBehavior: "error_as_result" as const,
			inputGuardrails: [],
			outputGuardrails: [],
		})),
		/** Resolves once the work beside the last call has ended. */
		settled,
	};
}

/** An id of a call that a provider made at random; others may name a call of another conversation. */
const distinctId = /^[\w-]{16,}$/;
const mostIds = 20_000;

/** Gives items the ids back that a session of the SDK drops, so that a later run sends the same bytes. */
function createIdMemory() {
	const ids = new Map<string, string>();
	return <Item extends object>(item: Item): Item => {
		const { type, callId, id, ...others } = item as JsonObject;
		if (typeof callId !== "string" || !distinctId.test(callId)) return item;
		const key = `${type} ${callId}`;
		if (typeof id === "string") {
			ids.set(key, id);
			for (const oldest of ids.keys()) if (ids.size > mostIds) ids.delete(oldest);
			return item;
		}
		const known = ids.get(key);
		return known === undefined ? item : ({ type, id: known, callId, ...others } as unknown as Item);
	};
}

function modelOf({ model }: Agent, usual: string | undefined) {
	const own = typeof model === "string" ? model : (objectOf(model).model ?? objectOf(model).modelId);
	const name = typeof own === "string" && own !== "" ? own : usual;
	return { name, ofProvider: typeof model === "object" && model ? model.constructor.name : "openai" };
}

function argumentsOf(input: string): JsonObject {
	try {
		return objectOf(JSON.parse(input));
	} catch {
		return {};
	}
}

/** The input tokens include those read from the cache. */
function usageOf(usage: unknown) {
	const { inputTokens, outputTokens, inputTokensDetails } = objectOf(usage);
	const { cached_tokens: cached } = objectOf(inputTokensDetails);
	const cacheRead = tokensIn(cached);
	const input = Math.max(0, tokensIn(inputTokens) - cacheRead);
	return input + cacheRead === 0 ? undefined : { input, cacheRead, cacheWrite: 0, output: tokensIn(outputTokens) };
}
