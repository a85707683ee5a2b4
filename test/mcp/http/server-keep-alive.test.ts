import { expect, test } from "vitest";
import { start } from "./harness.ts";

test("a connection outlives the keep-alive of proxies, so that none sends on a closing connection", async () => {
	const { url } = await start({ isStateless: true });
	const response = await fetch(`${url}/healthz`);
	expect(response.status).toBe(200);
	await response.text();
	const [, seconds] = /timeout=(\d+)/.exec(response.headers.get("keep-alive") ?? "") ?? [];
	expect(Number(seconds)).toBeGreaterThan(120);
});
