import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type * as Library from "../../src/index.ts";
import { conversationOfSize } from "../bench/conversation-shapes.ts";
import { hostileRequests } from "../bench/hostile.ts";
import { judgeAnswer } from "../bench/load-answer.ts";
import { callOf, type LoadClient, messageOf, openLoadClient } from "../bench/load-client.ts";
import { pick } from "../bench/random.ts";
import { envelope, revision } from "../support/client-2026.ts";
import { freePort } from "./free-port.ts";
import { figuresOf, tellingParameters } from "./process-figures.ts";
import type { Called, Face, FaceOptions } from "./soak.ts";
import { ownProcess } from "./start-process.ts";

/** A call of a tool with the JSON that the answer must have. */
interface ToolCall {
	readonly tool: string;
	/** In the spelling in which it is sent. */
	readonly conversation: string | undefined;
	readonly parameters: Readonly<Record<string, unknown>>;
	readonly answer: Uint8Array;
	/** An original that can be recalled after the call. */
	readonly original: { readonly ref: string; readonly text: string } | undefined;
}

const mostConversations = 40;
const [smallest, largest] = [0.01, 1];
const attacks = hostileRequests().slice(1);
/** Shares of clients, and of their calls. */
const [newer, ends, listens, leaves] = [0.4, 0.9, 0.3, 0.05];

/** `serve --http` with an archive of files, its clients with and without sessions, and one that attacks it. */
export async function serveFace({ cli, log, seed, clients }: FaceOptions): Promise<Face> {
	const home = await mkdtemp(join(tmpdir(), "palimpsest-soak-serve-"));
	const url = `http://127.0.0.1:${await freePort()}`;
	const server = ownProcess({
		command: process.execPath,
		parameters: [
			...[...tellingParameters, "--max-old-space-size=128", cli],
			...["serve", "--http", new URL(url).host, "--archive", `${home}/archive`],
		],
		// As in the image of the Dockerfile.
		environment: { PATH: process.env.PATH, HOME: home, USERPROFILE: home, MALLOC_ARENA_MAX: "2" },
		isReady: () => fetch(`${url}/healthz`),
		stdio: ["ignore", "ignore", log, "ipc"],
	});
	await server.start();
	const expect = await expecting(cli);
	const calls: ToolCall[] = [];
	const conversations = Math.min(clients, mostConversations);
	for (let index = 0; index < conversations; index += 1) {
		const megabytes = smallest * (largest / smallest) ** (index / conversations);
		calls.push(...(await expect(conversationOfSize(megabytes, seed + index).parsed)));
	}
	const child = () => {
		const running = server.running();
		if (!running) throw new Error("The server is not running.");
		return running;
	};
	return {
		name: "serve",
		url,
		pingPath: undefined,
		figures: () => figuresOf(child()),
		more: async () => ({}),
		async *client(random) {
			const isNewer = random() < newer;
			const client = await openLoadClient(url, isNewer ? revision : "2025-11-25");
			const post = posting(client, isNewer);
			if (!isNewer && random() < listens) client.listen();
			try {
				const length = 3 + Math.floor(random() * 12);
				for (let index = 0; index < length; index += 1) {
					if (random() < 0.1) yield { what: "tools/list", ...(await listed(post)) };
					// One in three is a conversation that nobody has sent before.
					const own = random() < 0.35 ? await expect(ownConversation(random)) : calls;
					const call = pick(random, own);
					if (random() < leaves) {
						await post(call, random() * 30).catch(() => undefined);
						yield { what: "left in the middle", outcome: "right" };
						continue;
					}
					yield { what: call.tool, ...(await outcomeOf(() => post(call), call.answer)) };
					if (call.original && random() < 0.3)
						yield { what: "recall_original", ...(await recalled(post, call.original)) };
				}
				if (!isNewer && random() < ends) {
					const status = await client.end();
					yield { what: "end of a session", outcome: status === 200 ? "right" : "error" };
				}
			} finally {
				client.close();
			}
		},
		async *hostile(random) {
			const client = await openLoadClient(url);
			const half = connect(Number(new URL(url).port), "127.0.0.1");
			half.on("error", () => {});
			half.write(
				"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{",
			);
			try {
				for (let index = 0; index < 10; index += 1) {
					const { name, body } = pick(random, attacks);
					const { status } = await client.post(body);
					yield { what: name, outcome: status === 413 ? "right" : "wrong" };
				}
			} finally {
				half.destroy();
				client.close();
			}
		},
		async end() {
			await server.kill();
			await rm(home, { recursive: true, force: true, maxRetries: 5 });
		},
	};
}

/** A small conversation that no other is. */
function ownConversation(random: () => number): unknown[] {
	return conversationOfSize(0.01 + random() * 0.02, Math.floor(random() * 2 ** 31)).parsed;
}

/** Answers with the calls of a conversation and what the library answers to each, in the built package. */
async function expecting(cli: string): Promise<(messages: unknown[]) => Promise<readonly ToolCall[]>> {
	const library = pathToFileURL(cli.replace(/cli\.js$/, "index.js")).href;
	const { compact, guard, mask, openArchive, truncate } = (await import(library)) as typeof Library;
	return async (messages) => {
		// The text of a reference is that of its original, in any archive.
		const archive = await openArchive({ where: "memory" });
		const kept = { archive, recallHint: "recall_original" };
		const conversation = JSON.stringify(messages);
		const masked = await mask(messages, kept);
		const contextWindow = 8192 + Math.ceil(masked.report.tokens.before / 2);
		const guarded = await guard(messages, { contextWindow, ...kept });
		const strategy = "tool-result-hiding";
		const compacted = await compact(messages, { force: true, strategy, ...kept });
		const text = longest(messages);
		const cut = await truncate(text, { maxChars: 2_000, ...kept });
		const bytes = (answer: object) => Buffer.from(JSON.stringify(answer));
		const withMessages = ({ conversation, report }: { conversation: unknown; report: object }) =>
			bytes({ messages: conversation, report });
		const refs = masked.conversation.flatMap((message, index) => {
			const { content } = message as { content?: unknown };
			const [, ref] = (typeof content === "string" && /, réf=([a-z0-9]+)\)\]/.exec(content)) || [];
			const original = (messages[index] as { content?: unknown }).content;
			return ref !== undefined && typeof original === "string" && content !== original ? [{ ref, text: original }] : [];
		});
		await archive?.close();
		const original = refs.find((one) => one.text.length < 20_000);
		return [
			{ tool: "mask_conversation", conversation, parameters: {}, answer: withMessages(masked), original },
			{
				tool: "guard_context",
				conversation,
				parameters: { context_window: contextWindow, respond_with: "edits" },
				answer: bytes({ edits: guarded.edits, report: guarded.report }),
				original: undefined,
			},
			{
				tool: "compact_conversation",
				conversation,
				parameters: { force: true, strategy },
				answer: withMessages(compacted),
				original: undefined,
			},
			{
				tool: "truncate_output",
				conversation: undefined,
				parameters: { text, max_chars: 2_000 },
				answer: bytes({ text: cut.text, ...cut.report }),
				original: undefined,
			},
		];
	};
}

function longest(messages: readonly unknown[]): string {
	const texts = messages
		.map((message) => (message as { content?: unknown }).content)
		.filter((one) => typeof one === "string");
	return texts.reduce((one, other) => (other.length > one.length ? other : one), "");
}

type Post = ReturnType<typeof posting>;

/** How a client of an era sends calls. */
function posting(client: LoadClient, isNewer: boolean) {
	const headersOf = (method: string, name?: string): Record<string, string> =>
		isNewer
			? { "MCP-Protocol-Version": revision, "Mcp-Method": method, ...(name === undefined ? {} : { "Mcp-Name": name }) }
			: {};
	const beside = isNewer ? envelope : {};
	let id = 1;
	// A call that was left may still have its id.
	const withOwnId = (body: Uint8Array) => {
		id += 1;
		return Buffer.concat([body.subarray(0, -"1}".length), Buffer.from(`${id}}`)]);
	};
	return (call: Pick<ToolCall, "tool" | "conversation" | "parameters"> | "tools/list", leaveAfterMs?: number) => {
		const leaving = leaveAfterMs === undefined ? {} : { leaveAfterMs };
		if (call === "tools/list")
			return client.post(withOwnId(messageOf(call, beside)), { headers: headersOf(call), ...leaving });
		const { tool, conversation, parameters } = call;
		const body =
			conversation === undefined
				? messageOf("tools/call", { ...beside, name: tool, arguments: parameters })
				: callOf(tool, conversation, parameters, beside);
		return client.post(withOwnId(body), { headers: headersOf("tools/call", tool), ...leaving });
	};
}

async function outcomeOf(ask: () => ReturnType<LoadClient["post"]>, answer: Uint8Array): Promise<Omit<Called, "what">> {
	// A connection that breaks is an error like any other, and no end of the run.
	const response = await ask().catch((error: Error) => error);
	if (response instanceof Error) return { outcome: "error", why: response.message };
	const outcome = judgeAnswer(response, answer);
	return outcome === "right" ? { outcome } : { outcome, why: `${response.status} ${response.body.subarray(0, 300)}` };
}

async function listed(post: Post): Promise<Pick<Called, "outcome">> {
	const response = await post("tools/list").catch(() => undefined);
	const names = response?.body
		.toString()
		.match(/"name":"(?:mask_conversation|guard_context|compact_conversation|truncate_output|recall_original)"/g);
	return { outcome: new Set(names).size === 5 ? "right" : "wrong" };
}

async function recalled(post: Post, original: { ref: string; text: string }): Promise<Pick<Called, "outcome">> {
	const call = {
		tool: "recall_original",
		conversation: undefined,
		parameters: { ref: original.ref, max_tokens: 10_000 },
	};
	const response = await post(call).catch(() => undefined);
	// The text stands in the answer as a string of JSON.
	return { outcome: response?.body.includes(JSON.stringify(original.text).slice(1, -1)) ? "right" : "wrong" };
}
