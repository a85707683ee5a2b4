import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text as textOf } from "node:stream/consumers";
import { crc32 } from "node:zlib";
import type { StandInProvider } from "./stand-in-provider.ts";

type Json = Readonly<Record<string, unknown>>;

export type CloudName = "bedrock" | "mantle" | "vertex" | "foundry";

export const cloudKey = "stand-in-key";

export interface StandInCloud {
	/** Such as http://127.0.0.1:40123, with the path that the base URL of this cloud has. */
	readonly baseUrl: string;
	readonly paths: readonly string[];
	/** Messages of the 400s, 403s and 404s for requests to a model. */
	readonly refusals: readonly string[];
	readonly close: () => Promise<void>;
}

/**
 * A cloud in front of the stand-in for Anthropic's API. It takes the paths, headers and fields of that cloud and no others, as the
 * SDKs of Anthropic send them (github.com/anthropics/anthropic-sdk-typescript, packages), and refuses every beta feature
 * that is not known to be served there: what AWS lists for `anthropic_beta`
 * (docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages-request-response.html), and what
 * Claude Code 2.1.332 sends to each.
 */
export async function startStandInCloud(name: CloudName, provider: StandInProvider): Promise<StandInCloud> {
	const paths: string[] = [];
	const refusals: string[] = [];
	const server = createServer((request, response) => {
		answer(request, response).catch((error: unknown) => send(response, 500, { message: String(error) }));
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const { port } = server.address() as AddressInfo;

	async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
		paths.push(`${request.method} ${request.url}`);
		const text = await textOf(request);
		if (request.method !== "POST") return send(response, 404, { message: "Unknown operation" });
		const read = clouds[name].read(request, JSON.parse(text));
		if ("message" in read) {
			refusals.push(read.message);
			return send(response, read.status, clouds[name].error(read.message));
		}
		const asked = await fetch(`${provider.origin}/v1/messages${read.counts ? "/count_tokens" : ""}`, {
			method: "POST",
			headers: { "content-type": "application/json", "anthropic-beta": read.betas.join(",") },
			body: JSON.stringify(read.body),
		});
		const type = asked.headers.get("content-type") ?? "";
		if (asked.status >= 400) {
			const { error } = (await asked.json()) as { error: { message: string } };
			refusals.push(error.message);
			return send(response, asked.status, clouds[name].error(error.message));
		}
		if (name !== "bedrock" || !type.startsWith("text/event-stream")) {
			response.writeHead(asked.status, { "content-type": type });
			response.end(await asked.text());
			return;
		}
		response.writeHead(200, { "content-type": "application/vnd.amazon.eventstream" });
		for (const event of (await asked.text()).split("\n\n")) {
			const data = /^data: (.*)$/m.exec(event)?.[1];
			if (data !== undefined) response.write(awsFrame(data));
		}
		response.end();
	}

	return {
		baseUrl: `http://127.0.0.1:${port}${clouds[name].basePath}`,
		paths,
		refusals,
		close: () =>
			new Promise((resolve) => {
				server.close(() => resolve());
				server.closeAllConnections();
			}),
	};
}

/** A request as Anthropic's API takes it, or the refusal of one. */
type Read =
	| { readonly body: Json; readonly betas: readonly string[]; readonly counts?: boolean }
	| { readonly status: number; readonly message: string };

interface Cloud {
	readonly basePath: string;
	readonly read: (request: IncomingMessage, body: Json) => Read;
	readonly error: (message: string) => Json;
}

const refused = (message: string, status = 400) => ({ status, message });
const messageAlone = (message: string) => ({ message });
const anthropicError = (message: string) => ({ type: "error", error: { type: "invalid_request_error", message } });

const everywhere = [
	"claude-code-20250219",
	"interleaved-thinking-2025-05-14",
	"thinking-token-count-2026-05-13",
	"effort-2025-11-24",
	"tool-search-tool-2025-10-19",
];
const onFoundry = ["context-management-2025-06-27", "web-search-2025-03-05", "advanced-tool-use-2025-11-20"];

const clouds: Readonly<Record<CloudName, Cloud>> = {
	bedrock: {
		basePath: "",
		error: messageAlone,
		read(request, { anthropic_version: version, anthropic_beta: betas = [], ...body }) {
			const path = /^\/model\/([^/]+)\/(invoke|invoke-with-response-stream)$/.exec(request.url ?? "");
			if (!path) return refused("Unknown operation", 404);
			if (!isBearer(request)) return refused("The security token included in the request is invalid.", 403);
			if (!isVersion(version, "bedrock-2023-05-31")) return refused("anthropic_version: Field required");
			const extra = ["model", "stream"].find((one) => one in body);
			if (extra !== undefined) return refused(`${extra}: Extra inputs are not permitted`);
			const known = [...everywhere, "context-1m-2025-08-07"];
			if (!(betas as string[]).every((one) => known.includes(one))) return refused("invalid beta flag");
			const model = decodeURIComponent(path[1] ?? "");
			const stream = path[2] === "invoke-with-response-stream";
			return betaFields(body) ?? { body: { ...body, model, stream }, betas: betas as string[] };
		},
	},
	vertex: {
		basePath: "/v1",
		error: anthropicError,
		read(request, { anthropic_version: version, ...body }) {
			const path =
				/^\/v1\/projects\/[\w-]+\/locations\/[\w-]+\/publishers\/anthropic\/models\/([\w.@-]+):(rawPredict|streamRawPredict)$/.exec(
					request.url ?? "",
				);
			if (!path) return refused("Not found", 404);
			if (!isBearer(request)) return refused("Request had invalid authentication credentials.", 403);
			if (!isVersion(version, "vertex-2023-10-16")) return refused("anthropic_version: Field required");
			const [, named = "", verb] = path;
			const counts = named === "count-tokens";
			if (counts !== "model" in body) return refused("model: Extra inputs are not permitted");
			if ((body.stream === true) !== (verb === "streamRawPredict")) return refused("stream: does not fit the path");
			const betas = betasOf(request);
			const unknown = unknownBeta(betas, [...everywhere, "web-search-2025-03-05"]);
			if (unknown) return unknown;
			return betaFields(body) ?? { body: counts ? body : { ...body, model: named }, betas, counts };
		},
	},
	mantle: {
		basePath: "/anthropic",
		error: anthropicError,
		read(request, body) {
			if (!isBearer(request)) return refused("invalid api key", 403);
			if (!/^(?:\w+\.)?anthropic\./.test(String(body.model))) return refused("model: not found", 404);
			return readMessages(request, body);
		},
	},
	foundry: {
		basePath: "/anthropic",
		error: anthropicError,
		read(request, body) {
			if (request.headers["x-api-key"] !== cloudKey && !isBearer(request)) return refused("Access denied", 401);
			return readMessages(request, body);
		},
	},
};

function readMessages(request: IncomingMessage, body: Json): Read {
	const { pathname } = new URL(request.url ?? "", "http://127.0.0.1");
	const path = /^\/anthropic\/v1\/messages(\/count_tokens)?$/.exec(pathname);
	if (!path) return refused("Not found", 404);
	if (!isVersion(request.headers["anthropic-version"], "2023-06-01"))
		return refused("anthropic-version: header is required");
	const betas = betasOf(request);
	const unknown = unknownBeta(betas, [...everywhere, ...onFoundry]);
	return unknown ?? { body, betas, counts: path[1] !== undefined };
}

/** The SDKs from 1.0 on name the later version everywhere. */
function isVersion(given: unknown, first: string): boolean {
	return given === first || given === "2026-10-21";
}

function isBearer({ headers }: IncomingMessage): boolean {
	return headers.authorization === `Bearer ${cloudKey}`;
}

function betasOf({ headersDistinct }: IncomingMessage): string[] {
	return (headersDistinct["anthropic-beta"] ?? []).flatMap((value) => value.split(",")).map((one) => one.trim());
}

function unknownBeta(betas: readonly string[], known: readonly string[]) {
	const unknown = betas.find((beta) => beta !== "" && !known.includes(beta));
	return unknown === undefined
		? undefined
		: refused(`Unexpected value(s) \`${unknown}\` for the \`anthropic-beta\` header.`);
}

/** Fields of beta features that this cloud does not serve. */
function betaFields(body: Json) {
	const binding = (body.thinking as Json | undefined)?.block_binding;
	if (binding !== undefined) return refused("thinking.block_binding: Extra inputs are not permitted");
	return "context_management" in body ? refused("context_management: Extra inputs are not permitted") : undefined;
}

/** An event of AWS: lengths and their checksum, headers, payload, checksum of all. Only "Converse" sends JSON as it is. */
export function awsFrame(data: string, form: "bytes" | "plain" = "bytes"): Buffer {
	const headers = Buffer.concat(
		[
			[":event-type", "chunk"],
			[":content-type", "application/json"],
			[":message-type", "event"],
		].map(([name = "", value = ""]) => {
			const about = Buffer.from([7, value.length >> 8, value.length & 255]);
			return Buffer.concat([Buffer.from([name.length]), Buffer.from(name), about, Buffer.from(value)]);
		}),
	);
	const wrapped = JSON.stringify({ bytes: Buffer.from(data).toString("base64"), p: "abcdefgh" });
	const payload = Buffer.from(form === "plain" ? data : wrapped);
	const prelude = Buffer.alloc(8);
	prelude.writeUInt32BE(16 + headers.length + payload.length, 0);
	prelude.writeUInt32BE(headers.length, 4);
	const start = Buffer.concat([prelude, checksum(prelude), headers, payload]);
	return Buffer.concat([start, checksum(start)]);
}

function checksum(bytes: Buffer): Buffer {
	const sum = Buffer.alloc(4);
	sum.writeUInt32BE(crc32(bytes), 0);
	return sum;
}

function send(response: ServerResponse, status: number, value: unknown): void {
	if (response.headersSent) response.destroy();
	else response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
}
