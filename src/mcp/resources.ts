import type { GetPromptResult, ReadResourceResult, ResourceLink } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import { policyJsonSchema } from "../engine/policy/check.ts";
import { resolvePolicy } from "../engine/policy/layers.ts";
import { presetNames } from "../engine/policy/names.ts";
import { presets } from "../engine/policy/presets.ts";
import { PalimpsestError } from "../errors.ts";
import { modelNames } from "../formats/tokens/models.ts";
import type { PolicySource } from "../operations/config/config.ts";
import type { EditRecord } from "../operations/edit-record.ts";
import type { ArchiveSource } from "../storage/archive/open.ts";
import { invalidParams, largestAnswer, RequestError } from "./answer.ts";

/** A resource, or a template of resources, as data and a handler, so that the binder of each era can use it. */
export interface Resource {
	readonly name: string;
	/** A URI, or a template of URIs with variables in braces. */
	readonly uri: string;
	readonly template?: {
		readonly list?: () => { resources: { uri: string; name: string; title: string; description: string }[] };
		readonly complete?: Readonly<Record<string, (typed: string) => string[]>>;
	};
	readonly about: { title: string; description: string; mimeType?: string; _meta?: Record<string, unknown> };
	/** How long a client may keep it. */
	readonly cache: CacheHint;
	readonly read: (
		uri: URL,
		variables: Readonly<Record<string, string | string[]>>,
	) => ReadResourceResult | Promise<ReadResourceResult>;
}

/** Since revision 2026-07-28. `public`: the same for every principal. */
interface CacheHint {
	readonly ttlMs: number;
	readonly cacheScope: "public" | "private";
}

const [hour, day] = [3_600_000, 86_400_000];

/** For lists, which change only with the server's options, and for texts that change only with its version. */
export const listCache: CacheHint = { ttlMs: hour, cacheScope: "public" };
const versionCache: CacheHint = { ttlMs: day, cacheScope: "public" };
/** A reference is a function of the text, so its original never changes. */
const originalCache: CacheHint = { ttlMs: 365 * day, cacheScope: "private" };
const policyCache: CacheHint = { ttlMs: 0, cacheScope: "private" };

const originalUri = "original://";

/** Each link costs a model some fifty tokens, and placeholders name their originals anyway. */
const mostLinks = 10;

/** Links to the last originals, which are requested first. */
export function originalLinks(
	edits: readonly (Pick<EditRecord, "ref" | "tool_call_id"> & { readonly before: { readonly chars: number } })[],
): ResourceLink[] {
	const byRef = new Map<string, ResourceLink>();
	for (const { ref, tool_call_id, before } of edits) {
		if (ref === undefined) continue;
		const call = tool_call_id === undefined ? "" : `tool_call_id ${tool_call_id}, `;
		const description = `${call}${before.chars} characters`;
		byRef.set(ref, { type: "resource_link", uri: `${originalUri}${ref}`, name: ref, description });
	}
	return [...byRef.values()].slice(-mostLinks);
}

// https://modelcontextprotocol.io/specification/2025-11-25/server/resources#error-handling
const resourceNotFound = -32_002;

/** Each archived original. They are not listed, since there may be a hundred thousand: answers link to them. */
function originals(source: ArchiveSource): Resource {
	return {
		name: "original",
		uri: `${originalUri}{ref}`,
		template: {},
		about: { title: "Original", description: "The whole text that a placeholder replaces." },
		cache: originalCache,
		async read(uri, { ref }) {
			try {
				return { contents: [{ uri: uri.href, ...(await wholeOriginal(source, String(ref))) }] };
			} catch (error) {
				if (!(error instanceof PalimpsestError)) throw error;
				const code = error.code === "original_not_found" ? resourceNotFound : invalidParams;
				throw new RequestError(code, `[${error.code}] ${error.message}`);
			}
		},
	};
}

function wholeOriginal(source: ArchiveSource, ref: string): Promise<{ text: string; mimeType: string }> {
	return source.use(async (archive) => {
		const { listing, value: text } = await archive.read(ref, async (pieces) => {
			let text = "";
			for await (const piece of pieces) {
				text += piece;
				if (text.length > largestAnswer) break;
			}
			return text;
		});
		const { kind, chars } = listing;
		// Places belong to restoring and are not originals.
		if (kind === "places") throw new PalimpsestError("original_not_found", "No original is kept under this reference.");
		if (chars > largestAnswer || Buffer.byteLength(JSON.stringify(text)) > largestAnswer - 1_000) {
			const size = `The original has ${chars} characters, more than clients accept in one message.`;
			throw new PalimpsestError("payload_too_large", `${size} Read it in parts with recall_original.`);
		}
		return { text, mimeType: kind === "group" || kind === "media" ? jsonMimeType : "text/plain" };
	});
}

/** The only resource that changes, so the only one that a subscription is of use for. */
export const currentPolicyUri = "policy://current";
const jsonMimeType = "application/json";

function json(uri: URL, value: unknown): ReadResourceResult {
	return { contents: [{ uri: uri.href, mimeType: jsonMimeType, text: JSON.stringify(value, null, 2) }] };
}

/** The originals of the archive, the policy in force, each preset, the schema, and the page of a context report. */
export function resourcesOf(from: {
	readonly policySource: PolicySource;
	readonly archive?: ArchiveSource | undefined;
}): readonly Resource[] {
	const { policySource, archive } = from;
	const currentPolicy: Resource = {
		name: "current-policy",
		uri: currentPolicyUri,
		about: {
			title: "Policy in force",
			description: "Every field with its value, and the file it came from.",
			mimeType: jsonMimeType,
		},
		cache: policyCache,
		read: (uri) => {
			const [policy, file, found] = [policySource.current(), policySource.file(), policySource.found()];
			return json(uri, { policy, file, found });
		},
	};
	return [...(archive ? [originals(archive)] : []), currentPolicy, policySchema, policyPresets, contextReportApp];
}

const policySchema: Resource = {
	name: "policy-schema",
	uri: "policy://schema",
	about: {
		title: "Policy schema",
		description: "JSON Schema: every field's type, default and meaning.",
		mimeType: jsonMimeType,
	},
	cache: versionCache,
	read: (uri) => json(uri, policyJsonSchema()),
};

const policyPresets: Resource = {
	name: "policy-preset",
	uri: "policy://presets/{name}",
	template: {
		list: () => ({
			resources: presetNames.map((name) => ({
				uri: `policy://presets/${name}`,
				name: `preset-${name}`,
				title: `Preset ${name}`,
				description: presets[name].description,
			})),
		}),
		complete: { name: (typed) => presetNames.filter((name) => name.startsWith(typed)) },
	},
	about: {
		title: "Preset",
		description: "A preset's complete policy and where its numbers come from.",
		mimeType: jsonMimeType,
	},
	cache: versionCache,
	read(uri, variables) {
		const name = presetNames.find((known) => known === variables.name);
		if (!name) throw new RequestError(invalidParams, `No such preset. Known: ${presetNames.join(", ")}.`);
		return json(uri, { name, ...presets[name], policy: resolvePolicy([{ preset: name }]) });
	},
};

export const contextReportUri = "ui://palimpsest/context-report";

/** https://github.com/modelcontextprotocol/ext-apps/blob/main/specification/2026-01-26/apps.mdx */
const appMimeType = "text/html;profile=mcp-app";
/** The page loads nothing, so it is allowed no origins. */
const appMeta = { ui: { prefersBorder: true } };

/** The page of a context report as an MCP App. */
const contextReportApp: Resource = {
	name: "context-report",
	uri: contextReportUri,
	about: {
		title: "What fills the context window",
		description: "A page for hosts that show MCP Apps: draws the report of guard_context.",
		mimeType: appMimeType,
		_meta: appMeta,
	},
	cache: versionCache,
	async read(uri) {
		const { reportAppPage } = await import("../pages/page.ts");
		return { contents: [{ uri: uri.href, mimeType: appMimeType, text: await reportAppPage(), _meta: appMeta }] };
	},
};

// ---- Prompts ----

/** In UTF-16 code units. An argument becomes part of a text for a model. */
const longestArgument = 4_000;

type Complete = (typed: string) => string[] | Promise<string[]>;

type ArgumentSchema = z.ZodType<string | undefined, string | undefined>;

/** Each SDK has a `completable` of its own, which marks a schema whose values it completes. */
type Completable = (schema: ArgumentSchema, complete: (typed?: string) => ReturnType<Complete>) => ArgumentSchema;

/** Passes each prompt to an SDK, with the schemas of its arguments. */
export function bindPrompts(
	completable: Completable,
	register: (
		name: string,
		config: { title: string; description: string; argsSchema: Record<string, ArgumentSchema> },
		write: (given: Readonly<Record<string, string | undefined>>) => GetPromptResult,
	) => unknown,
): void {
	for (const { name, title, description, arguments: named, write } of [compact, contextReport]) {
		const schemas = Object.entries(named).map(([key, one]) => [key, schemaOf(one, completable)]);
		register(name, { title, description, argsSchema: Object.fromEntries(schemas) }, (given) => {
			refuseLong(given);
			return { description, messages: [{ role: "user", content: { type: "text", text: write(given) } }] };
		});
	}
}

/** A text that a user requests by name; hosts show prompts as slash commands. */
interface Prompt {
	readonly name: string;
	readonly title: string;
	readonly description: string;
	readonly arguments: Readonly<Record<string, PromptArgument>>;
	readonly write: (given: Readonly<Record<string, string | undefined>>) => string;
}

interface PromptArgument {
	readonly description: string;
	readonly complete?: Complete;
}

function schemaOf({ description, complete }: PromptArgument, completable: Completable) {
	const schema = z.string();
	if (!complete) return schema.optional().describe(description);
	// The SDK looks for completions inside an optional schema when it offers them, and outside when it answers.
	const inner = completable(schema, (typed = "") => complete(typed));
	return completable(inner.optional().describe(description), (typed = "") => complete(typed));
}

function refuseLong(given: Readonly<Record<string, string | undefined>>): void {
	for (const [name, text = ""] of Object.entries(given)) {
		if (text.length <= longestArgument) continue;
		const expected = `expected a text of at most ${longestArgument} characters, got one of ${text.length}`;
		throw new RequestError(invalidParams, `${name}: ${expected}`);
	}
}

const compact: Prompt = {
	name: "compact",
	title: "Write a hand-over",
	description: "Writes a hand-over in the agent's own words, which replaces the old messages of a session's file.",
	arguments: {
		keep: { description: "What must survive, such as a task, a file or a decision." },
		path: { description: "The session's file. Without it, the hand-over is the answer." },
	},
	write({ keep, path }) {
		const end = path
			? [
					`Then call compact_conversation with \`summary\` = the hand-over, \`path\` = ${JSON.stringify(path)} and \`output_path\` = a new file next to it, \`strategy\` = "llm-summary".`,
					"The report lists identifiers that the hand-over lost: put in those that are needed and call again.",
				]
			: ["Answer with the hand-over alone: a new conversation can begin with it."];
		return [
			"Write a hand-over of this conversation, in your own words, for a reader who continues it and knows nothing else:",
			"1. the task and its limits, as the user put them;",
			"2. what was done and decided, and why;",
			"3. every path, command, identifier and figure that is still needed, to the letter;",
			"4. what failed, and what was learned from it;",
			"5. what is to be done next.",
			...(keep ? [`Above all keep: ${keep}`] : []),
			"",
			...end,
		].join("\n");
	},
};

const completePreset = (typed: string) => presetNames.filter((name) => name.startsWith(typed));

const contextReport: Prompt = {
	name: "context-report",
	title: "What fills the context",
	description: "Says what fills the model's window, and what masking would free and cost.",
	arguments: {
		path: { description: "A session's file. Without it, the conversation that the prompt is used in." },
		model: { description: "The model, for its window and its tokenizer.", complete: modelNames },
		preset: { description: "A preset to look at more closely.", complete: completePreset },
	},
	write({ path, model, preset }) {
		if (!path) {
			return [
				"Call guard_context without messages and path. It changes nothing.",
				"Then tell me, shortly and with its figures: how full the window is, what fills it, what masking would free, and what you recommend.",
			].join("\n");
		}
		const given = [
			`\`path\` = ${JSON.stringify(path)}`,
			...(model ? [`\`model\` = ${JSON.stringify(model)}`] : []),
			...(preset ? [`\`policy\` = ${JSON.stringify({ preset })}`] : []),
			'`respond_with` = "report"',
		];
		return [
			`Call guard_context with ${given.join(", ")}. It changes nothing.`,
			"Then tell me, shortly and with its figures:",
			"1. how full the window is, and whether the conversation fits;",
			"2. what fills it: system prompt, tools by server, people's words, reasoning, results by tool;",
			"3. what masking would free, what rewriting the prompt cache for it would cost, and after how many calls that is earned back;",
			"4. what you recommend.",
		].join("\n");
	},
};
