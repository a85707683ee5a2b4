import type { ReadResourceResult, ResourceLink } from "@modelcontextprotocol/sdk/types.js";
import type { ArchiveSource } from "../archive/open.ts";
import type { PolicySource } from "../config/config.ts";
import { PalimpsestError } from "../errors.ts";
import type { EditRecord } from "../operations/edit-record.ts";
import { policyJsonSchema } from "../policy/check.ts";
import { resolvePolicy } from "../policy/layers.ts";
import { presetNames } from "../policy/names.ts";
import { presets } from "../policy/presets.ts";
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
		about: { title: "Original", description: "The whole text that a placeholder stands for." },
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
		// Places belong to restoring and are no original.
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
		read: (uri) => json(uri, { policy: policySource.current(), file: policySource.file() }),
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
