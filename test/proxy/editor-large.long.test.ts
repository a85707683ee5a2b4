import { expect, it } from "vitest";
import { openArchive } from "../../src/archive/open.ts";
import { requestOf, turnsOf } from "./sessions.ts";
import { send, startProxyTo, startUpstream } from "./upstream.ts";

const edited = requestOf("anthropic", turnsOf(20, 6_000));

async function startBetween() {
	const upstream = await startUpstream();
	const proxy = await startProxyTo(upstream.url, { archive: await openArchive({ where: "memory" }) });
	return { url: proxy.url, bodies: () => upstream.received.map(({ body }) => body) };
}

it("a body of 100 MB passes as it came, and the next request is edited", async () => {
	const proxy = await startBetween();
	const body = Buffer.alloc(100_000_000, 0x61);
	expect((await send(proxy.url, { ...edited, body })).status).toBe(200);
	expect(proxy.bodies()[0]?.equals(body)).toBe(true);
	await send(proxy.url, edited);
	expect(proxy.bodies().at(-1)?.toString()).not.toBe(edited.body);
}, 60_000);

it("a body of 20 MB with 200 large results arrives; at the latest the second one is edited", async () => {
	const proxy = await startBetween();
	const large = requestOf("anthropic", turnsOf(200, 100_000));
	for (let time = 0; time < 2; time += 1) expect((await send(proxy.url, large)).status).toBe(200);
	expect(proxy.bodies()[1]?.length).toBeLessThan(4_000_000);
}, 60_000);
