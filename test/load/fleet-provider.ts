import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";

export interface Block {
	readonly type: string;
	readonly signature?: string;
	readonly tool_use_id?: string;
	readonly content?: unknown;
}

export interface Said {
	readonly role: string;
	readonly content: string | readonly Block[];
}

/** What a provider saw of all conversations of a run. */
export interface Seen {
	/** Requests that it took, and those that it refused for their reasoning. */
	accepted: number;
	refused: number;
	/** Accepted requests in which a result is longer again than it was. */
	takenBack: number;
	/** Accepted requests in which a result is shorter than its original. */
	edited: number;
	/** Accepted requests that came again with another body. */
	disagreed: number;
	/** By request, a hash of its last accepted body, and when that came, in ms. */
	readonly bodies: Map<string, { readonly hash: string; readonly at: number }>;
}

/** A stand-in that binds reasoning to all that was sent before it, and answers with a thought and a call. */
export async function startFleetProvider({ answerAfterMs }: { readonly answerAfterMs: number }) {
	const nothing = { accepted: 0, refused: 0, takenBack: 0, edited: 0, disagreed: 0 };
	const seen: Seen = { ...nothing, bodies: new Map() };
	/** By conversation and result, the characters of its original, and of the form in which it was accepted last. */
	const originals = new Map<string, number>();
	const forms = new Map<string, number>();
	const answerTo = (name: string, text: string, at: number) => {
		const [conversation = "", turn = ""] = name.split(" ");
		// The command that reads an original names the Redis of the run, and no signature is to hang on that.
		const same = text.replaceAll(/redis:\/\/[\d.:]+/g, "redis://");
		const { messages } = JSON.parse(same) as { messages: readonly Said[] };
		const { refusedAt, signature } = readReasoning(messages);
		if (refusedAt !== undefined) {
			seen.refused += 1;
			const message = `messages.${refusedAt}.content.0: Invalid \`signature\` in \`thinking\` block. The block is bound to a different conversation.`;
			return { status: 400, body: { type: "error", error: { type: "invalid_request_error", message } } };
		}
		seen.accepted += 1;
		let [isTakenBack, isEdited] = [false, false];
		for (const { tool_use_id: id, content } of messages.flatMap(({ content }) =>
			typeof content === "string" ? [] : content,
		)) {
			if (id === undefined) continue;
			const [key, length] = [`${conversation} ${id}`, String(content).length];
			const original = originals.get(key) ?? length;
			isTakenBack ||= length > (forms.get(key) ?? length);
			isEdited ||= length < original;
			forms.set(key, length);
		}
		seen.takenBack += Number(isTakenBack);
		seen.edited += Number(isEdited);
		const hash = createHash("sha256").update(same).digest("base64");
		seen.disagreed += Number((seen.bodies.get(name)?.hash ?? hash) !== hash);
		seen.bodies.set(name, { hash, at });
		const id = `toolu_01Fleet${conversation.padStart(6, "0")}x${turn.padStart(4, "0")}`;
		const content = [
			{ type: "thinking", thinking: `Thought ${turn}.`, signature },
			{ type: "tool_use", id, name: "bash", input: { command: `make part-${turn}` } },
		];
		const usage = { input_tokens: Math.ceil(text.length / 3.5), output_tokens: 60 };
		return { status: 200, body: { type: "message", role: "assistant", content, usage } };
	};
	const server = createServer((request, response) => {
		const pieces: Buffer[] = [];
		request.on("data", (piece: Buffer) => pieces.push(piece));
		request.on("error", () => {});
		request.on("end", async () => {
			const at = performance.now();
			const { status, body } = answerTo(String(request.headers["x-fleet"]), Buffer.concat(pieces).toString(), at);
			await pause(answerAfterMs);
			response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
		});
	});
	server.keepAliveTimeout = 60_000;
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	return {
		seen,
		url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
		/** A result that a conversation is going to send. */
		expect: (conversation: string, id: string, chars: number) => void originals.set(`${conversation} ${id}`, chars),
		/** The answer to a request that does not come through the fleet. */
		answer: (name: string, text: string) =>
			(answerTo(name, text, performance.now()).body as { readonly content?: readonly Block[] }).content,
		/** Begins the counts anew. */
		forget(): void {
			Object.assign(seen, nothing);
			seen.bodies.clear();
		},
		close() {
			server.closeAllConnections();
			server.close();
		},
	};
}

/** The message of the first thought that does not fit what stands before it, and the signature of the next one. */
function readReasoning(messages: readonly Said[]) {
	const hash = createHash("sha256");
	let last = "";
	const signature = () => hash.copy().update(last).digest("base64");
	for (const [index, { role, content }] of messages.entries()) {
		const blocks = typeof content === "string" ? [{ type: "text", text: content } as Block] : content;
		for (const block of blocks) {
			if (block.type !== "thinking") {
				const { cache_control: _, ...plain } = block as Block & { cache_control?: unknown };
				hash.update(`${role} ${JSON.stringify(plain)}`);
				continue;
			}
			if (block.signature !== signature()) return { refusedAt: index, signature: "" };
			last = block.signature;
		}
	}
	return { refusedAt: undefined, signature: signature() };
}
