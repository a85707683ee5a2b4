import { realpath } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { readWords } from "../../engine/compaction/kept-words.ts";
import { usersWords } from "../../engine/compaction/users-words.ts";
import { applyPlan } from "../../engine/conversation/apply.ts";
import { asksPerson } from "../../engine/conversation/asking-tools.ts";
import { isJsonObject, type JsonObject } from "../../engine/conversation/json.ts";
import { listOf, objectOf, stringAt } from "../../formats/json-text/value.ts";
import { cacheTerms } from "../../proxy/billing/terms.ts";
import { formatsOfApi } from "../../proxy/host-request.ts";
import { agentTools, recallToolName } from "./agent-tools.ts";
import { createSessionEditor, type PluginOptions, type SessionEditor } from "./session-editor.ts";

/** The part of pi's `ExtensionAPI` that is used here. Source: docs/extensions.md of `@earendil-works/pi-coding-agent` 0.74. */
interface Pi {
	readonly on: (event: string, handle: (event: JsonObject, context: Context) => Promise<unknown>) => void;
	readonly registerTool: (tool: JsonObject) => void;
	readonly getActiveTools: () => readonly string[];
	readonly getThinkingLevel?: () => unknown;
}

interface Context {
	readonly cwd: string;
	readonly model?: JsonObject;
	readonly modelRegistry: { readonly getApiKeyAndHeaders: (model: unknown) => Promise<JsonObject> };
	readonly hasUI?: boolean;
	readonly ui?: { readonly notify?: (message: string, kind: string) => void };
}

/** The APIs that pi names, by those of the proxy. */
const apis: Readonly<Record<string, keyof typeof formatsOfApi>> = {
	"anthropic-messages": "anthropic",
	"openai-completions": "openai",
	"openai-responses": "openai",
	"openai-codex-responses": "openai",
	"azure-openai-responses": "openai",
	"google-generative-ai": "gemini",
	"google-vertex": "gemini",
};

/** pi's note under an output over 50 kB (it shows the end), and the line on how a command ended. The file has neither. */
const cutNote = /\n\n\[Showing [^\]\n]*Full output: (?<savedIn>[^\]\n]+)\](?<status>\n\nCommand [^\n]{1,100})?$/;

/**
 * An extension for pi: masks in each request, and the messages that pi stores stay unchanged. It also offers
 * recall, and what an agent can ask for its own conversation: pi 0.74 has no MCP.
 */
export function piExtension(pi: Pi, options?: PluginOptions): void {
	process.env.PALIMPSEST_PROXY ??= "plugin";
	let editor: SessionEditor | undefined;
	const editorIn = ({ cwd, ui, hasUI }: Context): SessionEditor => {
		const report = (line: string) => (hasUI ? ui?.notify?.(line, "warning") : void process.stderr.write(`${line}\n`));
		editor ??= createSessionEditor({ folder: cwd, options, program: "pi", report });
		return editor;
	};
	/** The reaction if the provider refuses the last request. */
	let refused: (() => void) | undefined;

	pi.on("before_provider_request", async ({ payload }, context) => {
		refused = undefined;
		const api = apis[stringAt(context.model ?? {}, "api") ?? ""];
		if (api === undefined || !isJsonObject(payload)) return undefined;
		const done = await editorIn(context).edit(({ policy, archive }) => ({
			body: payload,
			formats: formatsOfApi[api],
			terms: cacheTerms(payload, api, policy.prices, {
				model: stringAt(context.model ?? {}, "id"),
				at: Date.now(),
			}),
			model: stringAt(context.model ?? {}, "id"),
			recall:
				archive && policy.archive.recall_hint && pi.getActiveTools().includes(recallToolName)
					? { by: recallToolName }
					: undefined,
			write: (edits) => applyPlan(payload, edits),
		}));
		if (done?.written !== undefined) refused = done.refused;
		return done?.written;
	});

	pi.on("after_provider_response", async ({ status }) => {
		if (status === 400) refused?.();
	});

	pi.on("tool_result", async ({ toolName, toolCallId, input, content }, context) => {
		const blocks = listOf(content);
		const texts = blocks.flatMap((block) => {
			return isJsonObject(block) && block.type === "text" && typeof block.text === "string" ? [block.text] : [];
		});
		const [only = ""] = texts.length === 1 ? texts : [];
		const { index = only.length, groups: { savedIn, status = "" } = {} } = cutNote.exec(only) ?? {};
		const call = { toolName: String(toolName), toolCallId: String(toolCallId), input, savedIn };
		const shorter = await editorIn(context).shorten(savedIn ? [only.slice(0, index)] : texts, call);
		if (shorter === undefined) return undefined;
		let next = 0;
		return {
			content: blocks.map((block) => {
				const isText = isJsonObject(block) && block.type === "text" && typeof block.text === "string";
				return isText ? { ...block, text: shorter[next++] + status } : block;
			}),
		};
	});

	pi.on("session_before_compact", (event, context) => compactWithWords(event, context, pi).catch(() => undefined));

	for (const { name, label, description, parameters, run } of agentTools({ searches: true })) {
		pi.registerTool({
			...{ name, label, description, parameters },
			execute: async (_id: string, input: JsonObject, _signal: unknown, _update: unknown, context: Context) => {
				return { content: [{ type: "text", text: await run(input, () => editorIn(context)) }], details: {} };
			},
		});
	}
}

/** The parts of pi that make its summary. */
interface Compaction {
	readonly compact: (
		preparation: unknown,
		model: unknown,
		apiKey: unknown,
		headers: unknown,
		customInstructions: unknown,
		signal: unknown,
		thinkingLevel: unknown,
	) => Promise<{ readonly summary: string }>;
}

/** pi's own summary, and below it the user's words in the part that it replaces. pi makes its own after any error. */
async function compactWithWords(event: JsonObject, { model, modelRegistry }: Context, pi: Pi): Promise<unknown> {
	const { preparation, customInstructions, signal } = event;
	const { messagesToSummarize, turnPrefixMessages, previousSummary } = objectOf(preparation);
	const summarised = [...listOf(messagesToSummarize), ...listOf(turnPrefixMessages)].map(objectOf);
	const earlier = readWords(String(previousSummary ?? ""))?.texts ?? [];
	const words = usersWords([...earlier, ...summarised.flatMap(writtenByUser)]);
	if (words === undefined || model === undefined) return undefined;
	const { compact } = await importPi();
	const { ok, apiKey, headers } = await modelRegistry.getApiKeyAndHeaders(model);
	if (ok !== true) return undefined;
	const thinkingLevel = pi.getThinkingLevel?.();
	const made = await compact(preparation, model, apiKey, headers, customInstructions, signal, thinkingLevel);
	return { compaction: { ...made, summary: `${made.summary}\n\n${words}` } };
}

/** Imports pi by its name, which pi resolves in its compiled form; else next to the script that runs. */
async function importPi(): Promise<Compaction> {
	const name = "@earendil-works/pi-coding-agent";
	try {
		return (await import(name)) as Compaction;
	} catch {
		const script = await realpath(process.argv[1] ?? "");
		return (await import(pathToFileURL(path.join(path.dirname(script), "index.js")).href)) as Compaction;
	}
}

/** Also what a person answered to a tool of the agent. */
function writtenByUser({ role, content, toolName }: JsonObject): string[] {
	if (role !== "user" && !(role === "toolResult" && asksPerson(String(toolName)))) return [];
	if (typeof content === "string") return [content];
	return [
		listOf(content)
			.map((part) => stringAt(objectOf(part), "text") ?? "")
			.join("\n"),
	];
}
