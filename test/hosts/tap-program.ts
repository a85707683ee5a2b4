import { chmod, mkdir, writeFile } from "node:fs/promises";
import { createServer, request as sendRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { isThinking, listOf } from "../support/bound-prefix.ts";

type Json = Readonly<Record<string, unknown>>;

/** What a program itself sent and got, whatever is between it and the stand-in. */
export interface ProgramTap {
	/** For the path: has the program under its own name, which then goes through the tap. */
	readonly binFolder: string;
	/** Answers with a status of 400 and more that the program got. */
	readonly errors: () => number;
	/** Requests from which the program took thinking that it had sent before. */
	readonly repairs: () => number;
	readonly close: () => Promise<void>;
}

/**
 * A server between a program and the address in its `ANTHROPIC_BASE_URL`, which `palimpsest launch` sets: a script in the
 * program's place puts that address behind the tap's own.
 */
export async function tapProgram(given: {
	/** Gets a folder with the script. */
	readonly home: string;
	readonly command: string;
	/** Has the program. */
	readonly binFolder: string;
}): Promise<ProgramTap> {
	let [errors, repairs] = [0, 0];
	const sent = new Map<string, ReadonlySet<unknown>>();
	const server = createServer(async (request, response) => {
		const [, , host = "", ...rest] = (request.url ?? "").split("/");
		const chunks: Buffer[] = [];
		for await (const chunk of request) chunks.push(chunk as Buffer);
		const body = Buffer.concat(chunks);
		if (/\/messages(?:\?|$)/.test(request.url ?? "")) note(body.toString("utf8"));
		const { hostname, port } = new URL(`http://${host}`);
		const headers = { ...request.headers, host };
		const path = `/${rest.join("/")}`;
		const upstream = sendRequest({ hostname, port, path, method: request.method, headers }, (answer) => {
			if ((answer.statusCode ?? 0) >= 400) errors += 1;
			response.writeHead(answer.statusCode ?? 502, answer.headers);
			answer.pipe(response);
		});
		upstream.on("error", () => response.destroy());
		upstream.end(body);
	});
	server.requestTimeout = 0;
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const { port } = server.address() as AddressInfo;
	const binFolder = join(given.home, "tapped");
	await mkdir(binFolder, { recursive: true });
	const script = join(binFolder, given.command);
	const base = `http://127.0.0.1:${port}/to/\${ANTHROPIC_BASE_URL#http://}`;
	const program = join(given.binFolder, given.command);
	await writeFile(script, `#!/bin/sh\nANTHROPIC_BASE_URL="${base}" exec "${program}" "$@"\n`);
	await chmod(script, 0o755);

	function note(text: string): void {
		const { messages, tools } = JSON.parse(text) as Json;
		const [first] = listOf(messages);
		const conversation = JSON.stringify([first, listOf(tools).length]);
		const blocks = listOf(messages).flatMap(({ content }) => listOf(content));
		const thinking = new Set(blocks.filter(isThinking).map(({ signature, data }) => signature ?? data));
		const before = sent.get(conversation) ?? new Set();
		if ([...before].some((one) => !thinking.has(one))) repairs += 1;
		sent.set(conversation, thinking);
	}

	return {
		binFolder,
		errors: () => errors,
		repairs: () => repairs,
		close: () =>
			new Promise((resolve) => {
				server.close(() => resolve());
				server.closeAllConnections();
			}),
	};
}
