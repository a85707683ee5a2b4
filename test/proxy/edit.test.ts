import { describe, expect, it } from "vitest";
import { requestOf, sessionApis, turnsOf } from "./sessions.ts";
import { send, startProxyTo, startUpstream } from "./upstream.ts";
import { openArchive } from "../../src/archive/open.ts";

describe("a session", () => {
	it.each(sessionApis)("of 35 turns: %s", async (api) => {
		const upstream = await startUpstream();
		const archive = await openArchive({ where: "memory" });
		const proxy = await startProxyTo(upstream.url, { archive, log: (e) => console.log(e.message, JSON.stringify(e.data)) });
		const turns = turnsOf(35, 6_000);
		let previous = "";
		const out: string[] = [];
		for (let count = 0; count <= turns.length; count += 1) {
			const request = requestOf(api, turns.slice(0, count));
			const start = performance.now();
			await send(proxy.url, request);
			const took = performance.now() - start;
			const body = upstream.received.at(-1)?.body.toString() ?? "";
			let same = 0;
			while (same < previous.length && previous[same] === body[same]) same += 1;
			out.push(`${count}: ${String(request.body).length} -> ${body.length} same ${same}/${previous.length} ${took.toFixed(0)}ms`);
			previous = body;
		}
		console.log(api, out.join("\n"));
		console.log(previous.slice(0, 2500));
	});
});
