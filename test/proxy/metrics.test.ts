import { expect, it } from "vitest";
import { early, sendSettled, startPlayed } from "./played.ts";
import { requestOf, turnsOf } from "./sessions.ts";
import { sendOwn } from "./upstream.ts";

const path = "/palimpsest/metrics";

it("metrics are served where they are asked for, and nowhere else", async () => {
	const usage = { input_tokens: 9, cache_creation_input_tokens: 4_000, cache_read_input_tokens: 0, output_tokens: 5 };
	const session = await startPlayed({ policy: early }, (_, response) => response.end(JSON.stringify({ usage })));
	const proxy = await session.start({ metrics: true });
	for (let count = 1; count <= 5; count += 1) await sendSettled(proxy, requestOf("anthropic", turnsOf(count)));
	const answer = await sendOwn(proxy.url, { path });
	expect(answer.headers["content-type"]).toBe("text/plain; version=0.0.4; charset=utf-8");
	const text = answer.body.toString();
	const metric = (name: string) => Number(text.match(new RegExp(`^palimpsest_proxy_${name} (\\S+)$`, "m"))?.[1]);
	expect(metric('requests_total{kind="all"}')).toBe(5);
	expect(metric('requests_total{kind="edited"}')).toBeGreaterThan(0);
	expect(metric("tokens_left_out_total")).toBeGreaterThan(1_000);
	for (const name of ["billed_total", "billed_unedited_total"]) expect(metric(name)).toBeGreaterThan(0);
	expect(metric('faults_total{fault="archive"}')).toBe(0);
	expect(text).toContain("palimpsest_build_info{version=");
	expect(text).not.toContain("claude");

	const other = await session.start();
	expect((await sendOwn(other.url, { path })).status).toBe(404);
});
