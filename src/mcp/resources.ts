import { type McpServer, ResourceTemplate } from "@modelcontextprotocol/sdk/server/mcp.js";
import {
	ErrorCode,
	McpError,
	type ReadResourceResult,
	type ResourceLink,
	SubscribeRequestSchema,
	UnsubscribeRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import type { ArchiveSource } from "../config/archive.ts";
import type { PolicySource } from "../config/config.ts";
import { PalimpsestError } from "../errors.ts";
import type { EditRecord } from "../operations/edit-record.ts";
import { policyJsonSchema } from "../policy/check.ts";
import { resolvePolicy } from "../policy/layers.ts";
import { presetNames } from "../policy/names.ts";
import { presets } from "../policy/presets.ts";
import { largestAnswer } from "./answer.ts";

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

/** Offers each archived original. They are not listed, since there may be a hundred thousand: answers link to them. */
export function bindOriginals(server: McpServer, source: ArchiveSource): void {
	server.registerResource(
		"original",
		new ResourceTemplate(`${originalUri}{ref}`, { list: undefined }),
		{ title: "Original", description: "What a placeholder stands for, whole." },
		async (uri, { ref }) => {
			try {
				return { contents: [{ uri: uri.href, ...(await wholeOriginal(source, String(ref))) }] };
			} catch (error) {
				if (!(error instanceof PalimpsestError)) throw error;
				const code = error.code === "original_not_found" ? resourceNotFound : ErrorCode.InvalidParams;
				throw new McpError(code, `[${error.code}] ${error.message}`);
			}
		},
	);
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

const currentPolicyUri = "policy://current";
const jsonMimeType = "application/json";

function json(uri: URL, value: unknown): ReadResourceResult {
	return { contents: [{ uri: uri.href, mimeType: jsonMimeType, text: JSON.stringify(value, null, 2) }] };
}

/** Offers the policy in force, each preset and the schema. Returns the function that stops listening for changes. */
export function bindPolicy(
	server: McpServer,
	policySource: PolicySource,
	{ tellsChanges }: { readonly tellsChanges: boolean },
): () => void {
	const mimeType = jsonMimeType;
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
		(uri, variables) => {
			const name = presetNames.find((known) => known === variables.name);
			if (!name) throw new McpError(ErrorCode.InvalidParams, `No such preset. Known: ${presetNames.join(", ")}.`);
			return json(uri, { name, ...presets[name], policy: resolvePolicy([{ preset: name }]) });
		},
	);
	// The list never changes, but the SDK would declare `listChanged: true`.
	server.server.registerCapabilities({ resources: { subscribe: tellsChanges, listChanged: false } });
	if (!tellsChanges) return () => undefined;

	// Only this resource changes, so only it is remembered: a client may subscribe to any number of names.
	let isSubscribed = false;
	for (const schema of [SubscribeRequestSchema, UnsubscribeRequestSchema]) {
		server.server.setRequestHandler(schema, ({ params }) => {
			if (params.uri === currentPolicyUri) isSubscribed = schema === SubscribeRequestSchema;
			return {};
		});
	}
	return policySource.onChange(() => {
		if (!isSubscribed || !server.isConnected()) return;
		server.server.sendResourceUpdated({ uri: currentPolicyUri }).catch(() => {});
	});
}

export const contextReportUri = "ui://palimpsest/context-report";

/** https://github.com/modelcontextprotocol/ext-apps/blob/main/specification/2026-01-26/apps.mdx */
const appMimeType = "text/html;profile=mcp-app";

/** Offers the page of a context report as an MCP App. It loads nothing, so it is allowed no origins. */
export function bindContextReportApp(server: McpServer): void {
	const _meta = { ui: { prefersBorder: true } };
	server.registerResource(
		"context-report",
		contextReportUri,
		{
			title: "What fills the context window",
			description: "A page for hosts that show MCP Apps: draws the report of guard_context.",
			mimeType: appMimeType,
			_meta,
		},
		async (uri) => {
			const { reportAppPage } = await import("../pages/report-page.ts");
			return { contents: [{ uri: uri.href, mimeType: appMimeType, text: await reportAppPage(), _meta }] };
		},
	);
}
