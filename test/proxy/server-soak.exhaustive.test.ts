import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import v8 from "node:v8";
import vm from "node:vm";
import { expect, it } from "vitest";
import { openArchive } from "../../src/storage/archive/open.ts";
import { policyOf } from "../support/policy-of.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { requestOf, sessionApis, turnsOf } from "./sessions.ts";
import { send, sendOwn, startProxyTo } from "./upstream.ts";

const [requests, concurrent, conversations] = [5_000, 50, 60];

v8.setFlagsFromString("--expose-gc");
const collectGarbage = vm.runInNewContext("gc") as () => void;

async function heapMegabytes(): Promise<number> {
	for (let time = 0; time < 3; time += 1) {
		await new Promise((resolve) => setTimeout(resolve, 50));
		collectGarbage();
	}
	return process.memoryUsage().heapUsed / 1_000_000;
}

it(`${requests} requests in ${concurrent} concurrent streams need no more memory at the end`, async () => {
	// An upstream that keeps nothing, and streams its answer in pieces.
	const upstream = createServer((request, response) => {
		request.resume();
		request.on("end", () => {
			response.writeHead(200, { "Content-Type": "text/event-stream" });
			response.write('data: {"type":"message_start","message":{"usage":{"input_tokens":9,"output_tokens":1}}}\n\n');
			setImmediate(() => response.end('data: {"usage":{"prompt_tokens":9,"completion_tokens":1}}\n\n'));
		});
	});
	await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
	const folder = await scratchFolder();
	// A rule that masks early, so that most requests are edited.
	const mask = { window_turns: 4, selection: "age", cadence: "stride", stride_turns: 4 } as const;
	const proxy = await startProxyTo(`http://127.0.0.1:${(upstream.address() as AddressInfo).port}`, {
		archive: await openArchive({ where: folder }),
		policy: policyOf({ preset: "balanced", mask }),
	});
	// Each conversation goes through the same turns again and again, as after a rewind.
	const sessions = Array.from({ length: conversations }, (_, session) => ({
		api: sessionApis[session % sessionApis.length] ?? "chat",
		turns: turnsOf(24, 2_500).map((turn) => ({ ...turn, id: `${turn.id}of${session}` })),
	}));
	let sent = 0;
	let wrong = 0;
	const sendUntil = async (end: number) => {
		while (sent < end) {
			const { api, turns } = sessions[sent % conversations] as (typeof sessions)[number];
			const count = 1 + (Math.floor(sent / conversations) % 24);
			sent += 1;
			const got = await send(proxy.url, requestOf(api, turns.slice(0, count)));
			if (got.status !== 200 || !got.body.toString().includes("prompt_tokens")) wrong += 1;
		}
	};
	const streams = (end: number) => Promise.all(Array.from({ length: concurrent }, () => sendUntil(end)));
	// What is planned beside the requests is no memory that is kept.
	await streams(requests * 0.4);
	await proxy.settled();
	const before = await heapMegabytes();
	await streams(requests);
	await proxy.settled();
	const after = await heapMegabytes();
	expect(wrong).toBe(0);
	expect(proxy.totals().requests).toBe(requests);
	const status = JSON.parse((await sendOwn(proxy.url, { path: "/palimpsest/status" })).body.toString());
	expect(status.requests.edited).toBeGreaterThan(500);
	expect(status.faults).toEqual({ failed: 0, archive: 0, memory: 0, encoding: 0 });
	expect(after - before).toBeLessThan(12);
	upstream.closeAllConnections();
	await new Promise((resolve) => upstream.close(resolve));
}, 300_000);
