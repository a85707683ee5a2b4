import { type McpServer, ResourceTemplate } from "@modelcontextprotocol/sdk/server/mcp.js";
import {
	ErrorCode,
	McpError,
	type ReadResourceResult,
	SubscribeRequestSchema,
	UnsubscribeRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import type { PolicySource } from "../config/create-policy-source.ts";
import { policyJsonSchema } from "../policy/check.ts";
import { resolvePolicy } from "../policy/layers.ts";
import { type PresetName, presetNames } from "../policy/names.ts";
import { presets } from "../policy/presets.ts";

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
