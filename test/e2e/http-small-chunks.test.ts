import { connect } from "node:net";
import { expect, it } from "vitest";
import { initialize, send } from "../mcp/http/harness.ts";
import { httpServer } from "./http-server.ts";

/** Sends a body of blanks and a message, each byte in a chunk of its own, and answers with what came back. */
function drip(url: string, path: string, bytes: number): Promise<string> {
	const socket = connect(Number(new URL(url).port), "127.0.0.1");
	const answer = new Promise<string>((resolve, reject) => {
		socket.once("data", (piece) => resolve(String(piece)));
		socket.once("close", () => reject(new Error("The server hung up.")));
		socket.once("error", reject);
	});
	const head = [
		`POST ${path} HTTP/1.1`,
		"Host: localhost",
		"Content-Type: application/json",
		"Accept: application/json, text/event-stream",
		"Transfer-Encoding: chunked",
	];
	socket.write(`${head.join("\r\n")}\r\n\r\n`);
	const blanks = "1\r\n \r\n".repeat(10_000);
	let left = bytes;
	const push = (): void => {
		for (; left > 0; left -= 10_000) if (!socket.write(blanks)) break;
		if (left > 0) {
			left -= 10_000;
			socket.once("drain", push);
			return;
		}
		socket.write(`${[...initialize].map((letter) => `1\r\n${letter}\r\n`).join("")}0\r\n\r\n`);
	};
	push();
	return answer.finally(() => socket.destroy());
}

it("a server with a heap of 96 MB accepts short bodies in chunks of one byte, and refuses long ones", async () => {
	const { url } = await httpServer(["--archive", "none"], { NODE_OPTIONS: "--max-old-space-size=96" });
	expect(await drip(url, "/mcp", 60_000)).toMatch(/^HTTP\/1\.1 200 /);
	expect(await drip(url, "/mcp", 1_000_000)).toMatch(/^HTTP\/1\.1 400 /);
	const stream = await fetch(`${url}/sse`);
	const told = Buffer.from((await stream.body?.getReader().read())?.value ?? []).toString();
	const [messages = ""] = /\/messages\S+/.exec(told) ?? [];
	expect(await drip(url, messages, 300_000)).toMatch(/^HTTP\/1\.1 400 /);
	expect((await send(`${url}/healthz`)).status).toBe(200);
});
