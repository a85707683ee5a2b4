import type { JsonObject } from "../../engine/conversation/json.ts";
import { objectOf, objectsOf } from "../../formats/json-text/value.ts";
import { type Adapter, type AdapterOptions, createAdapter, refusalIn } from "./adapter.ts";
import { requestOf, toolSet, usageOf } from "./ai-sdk.ts";

export type { AdapterOptions };

type Edited = Awaited<ReturnType<Adapter["edit"]>>;

/** What a processor keeps between its methods in one run. */
type State = Record<string, unknown>;

interface Call {
	readonly state: State;
}

/**
 * A processor for agents of Mastra (`@mastra/core` 1.71), with `tools` for them. It edits the prompt of each call of the model;
 * messages in the agent's memory stay as they are. Put it last, so that it edits what the other processors send.
 *
 * ```js
 * const context = palimpsest();
 * new Agent({ …, tools: { ...yourTools, ...context.tools }, inputProcessors: [context], errorProcessors: [context] });
 * ```
 */
export function palimpsest(options: AdapterOptions = {}) {
	const { edit, tools, settled } = createAdapter("mastra", options);
	const offered = new WeakMap<State, readonly JsonObject[]>();
	const last = new WeakMap<State, Edited>();
	return {
		id: "palimpsest" as const,
		/** The tools are not told with the prompt. */
		processInputStep(call: Call & { readonly tools?: Readonly<Record<string, unknown>> }): undefined {
			const known = Object.entries(call.tools ?? {}).map(([name, tool]) => {
				const { description, inputSchema, parameters } = objectOf(tool);
				return { name, description, parameters: parameters ?? inputSchema };
			});
			offered.set(call.state, known);
		},
		async processLLMRequest<Prompt extends readonly object[]>(
			call: Call & { readonly prompt: Prompt; readonly model: { readonly provider: string; readonly modelId: string } },
		): Promise<{ prompt: Prompt } | undefined> {
			const { prompt, model, state } = call;
			const request = requestOf({ prompt, tools: offered.get(state) ?? [] }, model);
			const edited = await edit(request);
			last.set(state, edited);
			const sent = edited?.written ?? request.messages;
			return sent === prompt ? undefined : { prompt: sent as unknown as Prompt };
		},
		processLLMResponse(call: Call & { readonly chunks: readonly object[]; readonly fromCache?: boolean }): undefined {
			const finish = objectsOf(call.chunks).findLast(({ type }) => type === "step-finish" || type === "finish");
			const { usage, output } = objectOf(finish?.payload);
			if (!call.fromCache) void last.get(call.state)?.answered(usageOf(objectOf(output).usage ?? usage));
			last.delete(call.state);
		},
		/** A refused request is sent again without its new decisions. */
		processAPIError({ error, state }: Call & { readonly error: unknown }): { retry: boolean } | undefined {
			const edited = last.get(state);
			last.delete(state);
			if (!edited?.written || refusalIn(error) === undefined) return undefined;
			edited.refused();
			return { retry: true };
		},
		// Its types ask for the `id`.
		tools: Object.fromEntries(Object.entries(toolSet(tools)).map(([name, tool]) => [name, { id: name, ...tool }])),
		/** Resolves once the work beside the last call has ended. */
		settled,
	};
}
