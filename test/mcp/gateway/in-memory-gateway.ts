import { expect } from "vitest";
import { resolvePolicy } from "../../../src/engine/policy/layers.ts";
import type { PolicyLayer } from "../../../src/engine/policy/schema.ts";
import type { CallEnd, LogEvent } from "../../../src/log.ts";
import { createGateway } from "../../../src/mcp/gateway/gateway.ts";
import type { GatewayOptions } from "../../../src/mcp/gateway/gateway-state.ts";
import { createHostOutput } from "../../../src/mcp/gateway/output.ts";
import { type ArchiveSource, createArchiveSource } from "../../../src/storage/archive/open.ts";

export interface Json {
	readonly [key: string]: unknown;
}

/**
 * A gateway between a host and a server that are the test itself, with an archive in memory. `lists` are the tools that the
 * server lists to the gateway, in pages of one; `undefined`: it gives no answer, `refused`: an error.
 */
export function inMemoryGateway(
	options: Partial<GatewayOptions> & {
		readonly layer?: PolicyLayer;
		readonly lists?: readonly Json[] | "refused" | undefined;
	} = {},
) {
	const { layer = {}, ...more } = options;
	const lists = "lists" in options ? options.lists : [{ name: "search", inputSchema: { type: "object" } }];
	const layers = [{ preset: "balanced" } as const, layer];
	const policy = resolvePolicy(layers);
	const memory = createArchiveSource({ location: { where: "memory", namespace: "default" }, policy: () => policy });
	const archive = (options.archive ?? memory) as ArchiveSource;
	let written = "";
	const toServer: string[] = [];
	const logged: LogEvent[] = [];
	const ended: CallEnd[] = [];
	const toHost = createHostOutput((bytes) => {
		written += bytes.toString();
	});
	const gateway = createGateway({
		policy,
		layers,
		archive,
		owner: "server",
		choice: { only: [], except: [] },
		recall: "tool",
		recallCommand: "palimpsest recall",
		toHost,
		toServer(line) {
			const text = line.toString();
			if (text.includes('"id":"palimpsest-')) answerGateway(JSON.parse(text));
			else toServer.push(text);
		},
		log: (event) => void logged.push(event),
		onCallEnd: (end) => void ended.push(end),
		...more,
	});
	const askedByGateway: Json[] = [];
	function answerGateway(request: Json): void {
		expect(request.method).toBe("tools/list");
		askedByGateway.push(request);
		const at = Number((request.params as Json).cursor ?? 0);
		if (lists === undefined) return;
		if (lists === "refused") {
			fromServer({ jsonrpc: "2.0", id: request.id, error: { code: -32_603, message: "No list." } });
			return;
		}
		const tools = lists.slice(at, at + 1);
		fromServer({
			jsonrpc: "2.0",
			id: request.id,
			result: { tools, ...(lists[at + 1] && { nextCursor: `${at + 1}` }) },
		});
	}
	const lines = () => written.split("\n").slice(0, -1);
	const fromHost = (line: string | Json) => gateway.fromHost(bytesOf(line));
	const fromServer = (line: string | Json) => gateway.fromServer(bytesOf(line));
	return {
		gateway,
		archive,
		fromHost,
		fromServer,
		toServer,
		askedByGateway,
		logged,
		ended,
		toHost,
		/** The lines that the host has got. */
		lines,
		/** What the host gets for the result of a request. */
		async answer(request: Json, result: Json): Promise<Json> {
			fromHost({ jsonrpc: "2.0", ...request });
			fromServer({ jsonrpc: "2.0", id: request.id, result });
			await toHost.settled();
			return JSON.parse(lines().at(-1) ?? "{}").result;
		},
		/** What the host gets for a request that the gateway answers itself. */
		async ownAnswer(request: Json): Promise<Json> {
			const before = lines().length;
			fromHost({ jsonrpc: "2.0", ...request });
			while (lines().length === before) await new Promise((resolve) => setTimeout(resolve, 1));
			return JSON.parse(lines().at(-1) ?? "{}");
		},
	};
}

const bytesOf = (line: string | Json) => Buffer.from(typeof line === "string" ? line : JSON.stringify(line));

export const call = (id: string | number, name: string, parameters: Json = {}): Json => ({
	id,
	method: "tools/call",
	params: { name, arguments: parameters },
});

/** A text of numbered lines, each of about 60 characters. */
export function numberedLines(count: number, special: Readonly<Record<number, string>> = {}): string {
	return Array.from({ length: count }, (_, index) => {
		const number = index + 1;
		return special[number] ?? `line ${number}: the quick brown fox jumps over the lazy dog again`;
	}).join("\n");
}

export const textResult = (...texts: readonly string[]): Json => ({
	content: texts.map((text) => ({ type: "text", text })),
});

export const textIn = (result: Json): string =>
	(result.content as readonly { readonly text: string }[]).map(({ text }) => text).join("\n");

export const refIn = (text: string): string => /ref=([a-z0-9-]+)/.exec(text)?.[1] ?? "";
