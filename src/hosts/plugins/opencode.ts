import { usersWords } from "../../engine/compaction/users-words.ts";
import { applyPlan } from "../../engine/conversation/apply.ts";
import { asksPerson } from "../../engine/conversation/asking-tools.ts";
import { isJsonObject, type JsonObject } from "../../engine/conversation/json.ts";
import { listOf, objectOf, stringAt } from "../../formats/json-text/value.ts";
import { cacheTerms } from "../../proxy/billing/terms.ts";
import { recallInShell } from "../../proxy/recall-hint.ts";
import type { Editing } from "../../proxy/sending/editing.ts";
import { createSessionEditor, type PluginOptions, type SessionEditor } from "./session-editor.ts";

/**
 * One plugin for both of opencode's plugin APIs: 1.x calls `server`, 2.x calls `setup`. It masks in the messages that are
 * sent, and the messages that opencode stores stay unchanged. Sources: https://opencode.ai/docs/plugins and the types of
 * `@opencode-ai/plugin` 1.18 and `@opencode/plugin` 2.0 (`SessionHooks`, `ToolHooks`).
 */
export const opencodePlugin = { id: "palimpsest", server, setup };

const program = "opencode";

interface ServerInput {
	readonly directory?: string;
	readonly client?: {
		readonly app?: { readonly log?: (entry: { readonly body: JsonObject }) => unknown };
		readonly session?: {
			readonly messages?: (of: { readonly path: { readonly id: string } }) => Promise<{ readonly data?: unknown }>;
		};
	};
}

/** A message of 1.x with its parts. */
type Stored = { readonly info: JsonObject; readonly parts: readonly JsonObject[] };

interface AfterCall {
	output?: unknown;
	readonly content?: unknown;
	readonly metadata?: Record<string, unknown>;
}

async function server({ directory, client }: ServerInput = {}, options?: PluginOptions) {
	process.env.PALIMPSEST_PROXY ??= "plugin";
	const report = (message: string) => {
		const logged = client?.app?.log?.({ body: { service: "palimpsest", level: "warn", message } });
		if (logged instanceof Promise) logged.catch(() => {});
	};
	const editor = createSessionEditor({
		folder: directory ?? process.cwd(),
		host: "opencode",
		options,
		program,
		report,
	});
	/** By session, the reaction if the provider refuses the last request. */
	const refusals = new Map<string, () => void>();

	return {
		"experimental.chat.messages.transform": async (_: unknown, output: { readonly messages: Stored[] }) => {
			const { messages } = output;
			const { info = {} } = messages.findLast(({ info }) => info.role === "user") ?? {};
			const done = await editor.edit((editing) => ({
				...howSent(objectOf(info.model), editing, editor),
				body: { messages: [...messages] },
				formats: ["opencode"],
				write: (edits) =>
					(applyPlan({ messages: [...messages] }, edits) as { readonly messages: readonly Stored[] }).messages,
			}));
			if (done?.written === undefined) return;
			for (const [index, message] of done.written.entries()) messages[index] = message;
			const session = stringAt(info as JsonObject, "sessionID");
			if (session !== undefined) refusals.set(session, done.refused);
		},
		"tool.execute.after": async (
			input: { readonly tool: string; readonly callID?: string; readonly args?: unknown },
			output: AfterCall,
		) => {
			if (typeof output !== "object" || output === null) return;
			const call = { toolName: input.tool, toolCallId: input.callID, input: input.args };
			const { output: whole, metadata } = output;
			if (typeof whole === "string") {
				// opencode itself cuts an output over 50 kB, and names the file that holds the whole.
				const savedIn = stringAt(objectOf(metadata), "outputPath");
				const [shorter] = (await editor.shorten([whole], { ...call, savedIn })) ?? [];
				if (shorter === undefined) return;
				output.output = shorter;
				// opencode shows this copy to the user.
				if (metadata?.output === whole) metadata.output = shorter;
			} else await shortenBlocks(listOf(output.content), (texts) => editor.shorten(texts, call));
		},
		"experimental.session.compacting": async (
			{ sessionID: id }: { readonly sessionID: string },
			output: { readonly context: string[] },
		) => {
			const answer = await client?.session?.messages?.({ path: { id } }).catch(() => undefined);
			const words = usersWords(listOf(answer?.data).flatMap(writtenByUser));
			if (words !== undefined) output.context.push(words);
		},
		event: async ({ event }: { readonly event: { readonly type: string; readonly properties?: unknown } }) => {
			if (event.type !== "session.error") return;
			const { sessionID, error } = objectOf(event.properties);
			const { name, data } = objectOf(error);
			const isRefused = name === "APIError" && objectOf(data).statusCode === 400;
			if (isRefused) refusals.get(String(sessionID))?.();
			refusals.delete(String(sessionID));
		},
	};
}

function writtenByUser(message: unknown): string[] {
	const { info, parts } = objectOf(message);
	const all = listOf(parts).map(objectOf);
	if (objectOf(info).role !== "user") return all.flatMap(answeredByUser);
	const texts = all.filter(({ type, synthetic, ignored }) => {
		return type === "text" && synthetic !== true && ignored !== true;
	});
	return [texts.map(({ text }) => String(text)).join("\n")];
}

function answeredByUser({ type, tool, state }: JsonObject): string[] {
	const { output } = objectOf(state);
	return type === "tool" && asksPerson(String(tool)) && typeof output === "string" ? [output] : [];
}

interface SetupContext {
	readonly options?: PluginOptions;
	readonly location?: { readonly directory?: string };
	readonly session: { readonly hook: (name: string, handle: (event: SessionEvent) => Promise<void>) => unknown };
	readonly tool: { readonly hook: (name: string, handle: (event: ToolEvent) => Promise<void>) => unknown };
}

interface SessionEvent {
	readonly model?: unknown;
	readonly kind?: string;
	readonly system: unknown[];
	readonly messages: ModelMessage[];
}

interface ToolEvent {
	readonly tool: string;
	readonly id?: string;
	readonly input?: unknown;
	readonly status?: string;
	result?: JsonObject;
}

async function setup(context: SetupContext, options = context.options): Promise<void> {
	const { location, session, tool } = context;
	process.env.PALIMPSEST_PROXY ??= "plugin";
	const report = (line: string) => void process.stderr.write(`${line}\n`);
	const editor = createSessionEditor({
		folder: location?.directory ?? process.cwd(),
		host: "opencode",
		options,
		program,
		report,
	});
	await session.hook("context", (event) => editMessages(event, editor));
	await session.hook("compaction", async (event) => {
		const texts = event.messages.flatMap(({ role, content }) => {
			if (role === "user") return [content.map((part) => (part.type === "text" ? String(part.text) : "")).join("\n")];
			const answers = content.filter(({ type, name }) => type === "tool-result" && asksPerson(String(name)));
			return answers.flatMap(({ result }) => stringAt(objectOf(result), "value") ?? []);
		});
		const words = usersWords(texts);
		if (words !== undefined) event.system.push({ type: "text", text: `${words}\nKeep these words in the summary.` });
		await editMessages(event, editor);
	});
	await tool.hook("execute.after", async (event) => {
		const { result } = event;
		if (result === undefined) return;
		const call = { toolName: event.tool, toolCallId: event.id, input: event.input };
		const isText = typeof result.content === "string";
		const blocks = isText ? [{ type: "text", text: result.content }] : listOf(result.content).map(copied);
		if (!(await shortenBlocks(blocks, (texts) => editor.shorten(texts, call)))) return;
		event.result = { ...result, content: isText ? objectOf(blocks[0]).text : blocks };
	});
}

async function editMessages({ model, messages }: SessionEvent, editor: SessionEditor): Promise<void> {
	const body = { messages: readableMessages(messages) };
	const done = await editor.edit((editing) => ({
		...howSent(objectOf(model), editing, editor),
		body,
		formats: ["vercel-model"],
		write: (edits) =>
			withEdits(messages, (applyPlan(body, edits) as { readonly messages: readonly JsonObject[] }).messages),
	}));
	for (const [index, message] of (done?.written ?? []).entries()) messages[index] = message;
}

/** The model of a request, and how its provider caches. opencode asks Anthropic's models to cache for five minutes. */
function howSent(model: JsonObject, { policy, archive }: Editing, { recallCommand }: SessionEditor) {
	const id = stringAt(model, "modelID") ?? stringAt(model, "id");
	const isAnthropic = /claude|anthropic/i.test(`${stringAt(model, "providerID")} ${id}`);
	const asked = { cache_control: { type: "ephemeral" } };
	return {
		model: id,
		terms: cacheTerms(asked, isAnthropic ? "anthropic" : "openai", policy.prices, { model: id, at: Date.now() }),
		recall: archive && policy.archive.recall_hint ? recallInShell(recallCommand) : undefined,
	};
}

const copied = (block: unknown) => (isJsonObject(block) ? { ...block } : block);

/** Cuts the texts among blocks, in place. Returns whether it has. */
async function shortenBlocks(
	blocks: readonly unknown[],
	shorten: (texts: readonly string[]) => Promise<readonly string[] | undefined>,
): Promise<boolean> {
	const texts = blocks.flatMap((block) => {
		const isText = isJsonObject(block) && block.type === "text" && typeof block.text === "string";
		return isText ? [block as { text: string }] : [];
	});
	const shorter = await shorten(texts.map(({ text }) => text));
	for (const [at, text] of (shorter ?? []).entries()) (texts[at] as { text: string }).text = text;
	return shorter !== undefined;
}

/** A message as opencode 2.x hands it to a provider. Source: `LLM.Message` of `@opencode/ai` 2.0. */
interface ModelMessage {
	readonly role: string;
	readonly content: readonly JsonObject[];
}

/** The messages in the shape of the AI SDK, part for part: only the names of the members differ. */
function readableMessages(messages: readonly ModelMessage[]): JsonObject[] {
	return messages.map(({ role, content }) => ({
		role,
		content: content.map((part, at) => ({ ...readablePart(part), [placeKey]: at })),
	}));
}

/** The place of a part in its message, since reasoning may be taken out. */
const placeKey = "palimpsest_place";

function readablePart(part: JsonObject): JsonObject {
	const { type, id: toolCallId, name: toolName } = part;
	if (type === "tool-call") return { type, toolCallId, toolName, input: part.input };
	if (type === "tool-result") {
		const { type: kind, value } = objectOf(part.result);
		const isError = kind === "error";
		const ofError = typeof value === "string" ? "error-text" : "error-json";
		return { type, toolCallId, toolName, output: { type: isError ? ofError : kind, value } };
	}
	if (type === "text") return { type, text: part.text };
	if (type === "reasoning")
		return { type, text: part.text, providerOptions: part.providerMetadata ?? part.providerOptions };
	// Media and unknown values.
	return { type: "text", text: "" };
}

/** The messages with the results that were edited in their readable shape. The others are the very same objects. */
function withEdits(messages: readonly ModelMessage[], edited: readonly JsonObject[]): readonly ModelMessage[] {
	return messages.map((message, index) => {
		const parts = listOf(edited[index]?.content).map(objectOf);
		const content = parts.flatMap((edit) => {
			const part = message.content[Number(edit[placeKey])];
			if (part?.type !== "tool-result") return part ?? [];
			const result = objectOf(part.result);
			const { value } = objectOf(edit.output);
			return value === result.value ? part : { ...part, result: { ...result, value } };
		});
		const isSame =
			content.length === message.content.length && content.every((part, at) => part === message.content[at]);
		if (isSame) return message;
		// An instance of a class, whose methods stay.
		return Object.assign(Object.create(Object.getPrototypeOf(message)), message, { content });
	});
}
