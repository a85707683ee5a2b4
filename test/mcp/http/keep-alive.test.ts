import { expect, test } from "vitest";
import { start } from "./harness.ts";

test("a connection stays open longer than proxies keep theirs, so that none sends on one that is being closed", async () => {
	const { url } = await start({ isStateless: true });
	const response = await fetch(`${url}/healthz`);
	expect(response.status).toBe(200);
	await response.text();
	const [, seconds] = /timeout=(\d+)/.exec(response.headers.get("keep-alive") ?? "") ?? [];
	expect(Number(seconds)).toBeGreaterThan(120);
});
