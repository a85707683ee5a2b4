import { type McpServer, ResourceTemplate } from "@modelcontextprotocol/sdk/server/mcp.js";
import {
	ErrorCode,
	McpError,
	type ReadResourceResult,
	type ResourceLink,
	SubscribeRequestSchema,
	UnsubscribeRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import type { OriginalKind } from "../archive/archive.ts";
import type { ArchiveSource } from "../config/archive.ts";
import type { PolicySource } from "../config/config.ts";
import { PalimpsestError } from "../errors.ts";
import type { EditRecord } from "../operations/edit-record.ts";
import { policyJsonSchema } from "../policy/check.ts";
import { resolvePolicy } from "../policy/layers.ts";
import { type PresetName, presetNames } from "../policy/names.ts";
import { presets } from "../policy/presets.ts";
import { largestAnswer } from "./answer.ts";

/** https://modelcontextprotocol.io/specification/2025-11-25/server/resources#error-handling */
const resourceNotFound = -32_002;

/**
 * Offers each archived original as the resource `original://{ref}`, whole. They are not listed, since there may be a
 * hundred thousand: the masking tools' answers link to them.
 */
export function bindOriginals(server: McpServer, source: ArchiveSource): void {
	server.registerResource(
		"original",
		new ResourceTemplate(`${originalUri}{ref}`, { list: undefined }),
		{ title: "Original", description: "What a placeholder stands for, whole." },
		async (uri, { ref }) => {
			try {
				const { text, kind } = await wholeOriginal(source, String(ref));
				const mimeType = kind === "group" || kind === "media" ? "application/json" : "text/plain";
				return { contents: [{ uri: uri.href, mimeType, text }] };
			} catch (error) {
				if (!(error instanceof PalimpsestError)) throw error;
				const code = error.code === "original_not_found" ? resourceNotFound : ErrorCode.InvalidParams;
				throw new McpError(code, `[${error.code}] ${error.message}`);
			}
		},
	);
}

function wholeOriginal(source: ArchiveSource, ref: string): Promise<{ text: string; kind: OriginalKind }> {
	return source.use(async (archive) => {
		const { listing, value: text } = await archive.read(ref, async (pieces) => {
			let text = "";
			for await (const piece of pieces) {
				text += piece;
				// What cannot be sent need not be held.
				if (text.length > largestAnswer) break;
			}
			return text;
		});
		const { kind, chars } = listing;
		// These belong to restoring and are no original of anything.
		if (kind === "places") throw new PalimpsestError("original_not_found", "No original is kept under this reference.");
		if (chars > largestAnswer || Buffer.byteLength(JSON.stringify(text)) > largestAnswer - 1_000) {
			throw new PalimpsestError(
				"payload_too_large",
				`The original has ${chars} characters, more than clients accept in one message. Read it in parts with recall_original.`,
			);
		}
		return { text, kind };
	});
}

const currentPolicyUri = "policy://current";

function json(uri: URL, value: unknown): ReadResourceResult {
	return { contents: [{ uri: uri.href, mimeType: "application/json", text: JSON.stringify(value, null, 2) }] };
}

/**
 * Offers the policy as resources: the one in force, each preset, and the schema with every field's meaning. Where changes
 * are told, subscribers to `policy://current` hear of them. Answers with a function that stops listening for changes.
 */
export function bindResources(
	server: McpServer,
	policySource: PolicySource,
	{ tellsChanges }: { readonly tellsChanges: boolean },
): () => void {
	const mimeType = "application/json";
	server.registerResource(
		"current-policy",
		currentPolicyUri,
		{ title: "Policy in force", description: "Every field with its value, and the file it came from.", mimeType },
		(uri) => json(uri, { policy: policySource.current(), file: policySource.file() }),
	);
	server.registerResource(
		"policy-schema",
		"policy://schema",
		{ title: "Policy schema", description: "JSON Schema: every field's type, default and meaning.", mimeType },
		(uri) => json(uri, policyJsonSchema()),
	);
	server.registerResource(
		"policy-preset",
		new ResourceTemplate("policy://presets/{name}", {
			list: () => ({
				resources: presetNames.map((name) => ({
					uri: `policy://presets/${name}`,
					name: `preset-${name}`,
					title: `Preset ${name}`,
					description: presets[name].description,
				})),
			}),
			complete: { name: (typed) => presetNames.filter((name) => name.startsWith(typed)) },
		}),
		{ title: "Preset", description: "A preset's complete policy and where its numbers come from.", mimeType },
		(uri, { name }) => {
			const preset = presetNames.find((known) => known === name);
			if (!preset) throw new McpError(ErrorCode.InvalidParams, `No such preset. Known: ${presetNames.join(", ")}.`);
			return json(uri, describePreset(preset));
		},
	);
	// The list of resources never changes, so the SDK's `listChanged: true` would promise what never comes.
	server.server.registerCapabilities({ resources: { subscribe: tellsChanges, listChanged: false } });
	if (!tellsChanges) return () => undefined;

	// Nothing else changes, so nothing else is remembered: a client may subscribe to any number of names of any length.
	let isSubscribed = false;
	server.server.setRequestHandler(SubscribeRequestSchema, ({ params }) => {
		if (params.uri === currentPolicyUri) isSubscribed = true;
		return {};
	});
	server.server.setRequestHandler(UnsubscribeRequestSchema, ({ params }) => {
		if (params.uri === currentPolicyUri) isSubscribed = false;
		return {};
	});
	return policySource.onChange(() => {
		if (!isSubscribed || !server.isConnected()) return;
		// A client that has gone away in the meantime needs no notice.
		server.server.sendResourceUpdated({ uri: currentPolicyUri }).catch(() => {});
	});
}

function describePreset(name: PresetName) {
	const { description, source } = presets[name];
	return { name, description, source, policy: resolvePolicy([{ preset: name }]) };
}

/** Where originals are offered as resources. */
export const originalUri = "original://";

/** The most links in one answer: each costs a model some fifty tokens, and placeholders name their originals anyway. */
const mostLinks = 10;

/** A link to an archived original. */
export function originalLink(original: {
	readonly ref: string;
	readonly toolCallId?: string | undefined;
	/** Characters of the text that it takes the place of. */
	readonly chars?: number | undefined;
}): ResourceLink {
	const { ref, toolCallId, chars } = original;
	const facts = [
		...(toolCallId === undefined ? [] : [`tool_call_id ${toolCallId}`]),
		...(chars === undefined ? [] : [`${chars} characters`]),
	];
	const description = facts.length === 0 ? {} : { description: facts.join(", ") };
	return { type: "resource_link", uri: `${originalUri}${ref}`, name: ref, ...description };
}

/** Links to what edits took out: to the last ones, since those are asked for first. */
export function originalLinks(edits: readonly EditRecord[]): ResourceLink[] {
	const byRef = new Map<string, ResourceLink>();
	for (const { ref, tool_call_id: toolCallId, before } of edits) {
		if (ref !== undefined) byRef.set(ref, originalLink({ ref, toolCallId, chars: before.chars }));
	}
	return [...byRef.values()].slice(-mostLinks);
}
