import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

type Json = Readonly<Record<string, unknown>>;

export interface RewritingProxy {
	readonly origin: string;
	readonly close: () => Promise<void>;
}

const mismatchHeader = "anthropic-thinking-prefix-mismatch";

/** A careless proxy for tests of the stand-in: it changes the messages of each request and passes the rest on. */
export async function startRewritingProxy(
	upstream: string,
	rewrite: (messages: readonly Json[], request: number) => readonly Json[],
): Promise<RewritingProxy> {
	let requests = 0;
	const server = createServer(async (request, response) => {
		const chunks: Buffer[] = [];
		for await (const chunk of request) chunks.push(chunk as Buffer);
		const body = JSON.parse(Buffer.concat(chunks).toString("utf8")) as Json;
		requests += 1;
		const messages = rewrite(body.messages as Json[], requests);
		const headers = { "anthropic-beta": String(request.headers["anthropic-beta"] ?? "") };
		const answer = await fetch(upstream + request.url, {
			method: "POST",
			headers,
			body: JSON.stringify({ ...body, messages }),
		});
		response.writeHead(
			answer.status,
			["content-type", mismatchHeader].flatMap((name) => {
				const value = answer.headers.get(name);
				return value === null ? [] : [name, value];
			}),
		);
		response.end(await answer.text());
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const { port } = server.address() as AddressInfo;
	return {
		origin: `http://127.0.0.1:${port}`,
		close: () =>
			new Promise((resolve) => {
				server.close(() => resolve());
				server.closeAllConnections();
			}),
	};
}
