import type { JsonObject } from "../../engine/conversation/json.ts";
import { objectOf } from "../../formats/json-text/value.ts";
import { usageOf } from "../../proxy/billing/usage-fields.ts";
import { type Adapter, type AdapterOptions, createAdapter, refusalIn } from "./adapter.ts";

export type { AdapterOptions };

type Edited = Awaited<ReturnType<Adapter["edit"]>>;

/** What is used of `@google/adk`. */
interface Sdk<Plugin extends object, Tool> {
	readonly BasePlugin: abstract new (name: string) => Plugin;
	readonly FunctionTool: new (config: {
		readonly name: string;
		readonly description: string;
		readonly parameters: never;
		readonly execute: (input: unknown) => Promise<string>;
	}) => Tool;
}

interface Call {
	/** Names the run and the agent. */
	readonly callbackContext: { readonly invocationId: string; readonly agentName: string };
}

interface LlmRequest {
	readonly model?: string;
	contents: object[];
	readonly config?: unknown;
	readonly toolsDict: object;
}

/**
 * A plugin for runners of Google's Agent Development Kit (2.0), and `tools` for its agents. It edits the contents of each call of the
 * model; the events of a session keep them whole.
 *
 * ```js
 * import * as adk from "@google/adk";
 * const context = palimpsest(adk);
 * const agent = new adk.LlmAgent({ …, tools: [...yourTools, ...context.tools] });
 * const runner = new adk.InMemoryRunner({ agent, plugins: [context.plugin] });
 * ```
 */
export function palimpsest<Plugin extends object, Tool>(sdk: Sdk<Plugin, Tool>, options: AdapterOptions = {}) {
	const { edit, tools, settled } = createAdapter("adk", options);
	const last = new Map<string, Edited>();
	const take = ({ callbackContext }: Call): Edited => {
		const edited = last.get(keyOf(callbackContext));
		last.delete(keyOf(callbackContext));
		return edited;
	};
	const callbacks = {
		async beforeModelCallback(call: Call & { readonly llmRequest: LlmRequest }): Promise<undefined> {
			const { llmRequest: request, callbackContext } = call;
			const edited = await edit(requestOf(request));
			last.set(keyOf(callbackContext), edited);
			if (edited?.written) request.contents = edited.written as object[];
		},
		async afterModelCallback(call: Call & { readonly llmResponse: object }): Promise<undefined> {
			const { partial, usageMetadata } = objectOf(call.llmResponse);
			if (partial !== true) void take(call)?.answered(usageOf(objectOf(usageMetadata), "gemini"));
		},
		/** The next requests go out without the decisions of a refused one. */
		async onModelErrorCallback(call: Call & { readonly error: unknown }): Promise<undefined> {
			const edited = take(call);
			if (edited?.written && refusalIn(call.error) !== undefined) edited.refused();
		},
	};
	const BasePlugin = sdk.BasePlugin as unknown as new (name: string) => object;
	class Palimpsest extends BasePlugin {}
	return {
		plugin: Object.assign(new Palimpsest("palimpsest"), callbacks) as Plugin,
		tools: tools.map(({ name, description, parameters, run: execute }): Tool => {
			return new sdk.FunctionTool({ name, description, parameters: schemaOf(parameters) as never, execute });
		}),
		/** Resolves once the work beside the last call has ended. */
		settled,
	};
}

function keyOf({ invocationId, agentName }: Call["callbackContext"]): string {
	return `${invocationId} ${agentName}`;
}

function requestOf({ model, contents, config, toolsDict }: LlmRequest) {
	return {
		format: "gemini",
		messages: contents,
		system: objectOf(config).systemInstruction,
		tools: Object.entries(toolsDict).map(([name, tool]) => ({ name, description: objectOf(tool).description })),
		provider: "google",
		model,
	};
}

/** The names of types in Google's schemas are upper case. */
function schemaOf(parameters: JsonObject): JsonObject {
	const upper = (key: string, value: unknown) => {
		return key === "type" && typeof value === "string" ? value.toUpperCase() : value;
	};
	return JSON.parse(JSON.stringify(parameters, upper)) as JsonObject;
}
