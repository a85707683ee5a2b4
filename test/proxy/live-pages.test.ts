import { describe, expect, it } from "vitest";
import type { Archive } from "../../src/archive/archive.ts";
import { openArchive } from "../../src/archive/open.ts";
import { PalimpsestError } from "../../src/errors.ts";
import { version } from "../../src/version.ts";
import { early, play, sendSettled, startPlayed, statusOf } from "./played.ts";
import { requestOf, turnsOf } from "./sessions.ts";
import { send, startProxyTo, startUpstream } from "./upstream.ts";

async function startUsed() {
	const { archive, start } = await startPlayed({ policy: early });
	const proxy = await start();
	const turns = turnsOf(6, 6_000);
	const headers = { Authorization: "Bearer sk-secret-key", "X-Api-Key": "sk-secret-key" };
	for (let count = 1; count <= turns.length; count += 1) {
		const request = requestOf("anthropic", turns.slice(0, count), "A task with <b>markup</b> & secret words.");
		await sendSettled(proxy, { ...request, headers: { ...headers } });
	}
	return { ...proxy, archive, turns };
}

describe("the live page", () => {
	it("shows the figures and links each masked result to its original", async () => {
		const { url, turns, archive } = await startUsed();
		const page = await send(url, { path: "/palimpsest/" });
		expect(page.headers["content-type"]).toBe("text/html; charset=utf-8");
		expect(page.headers.refresh).toBe("5");
		const html = page.body.toString();
		expect(html).toContain("claude-sonnet-4-5");
		expect(html).toContain("masked: it pays");
		const ref = archive.refOf(turns[0]?.output as string);
		expect(html).toContain(`/palimpsest/originals/${ref}`);
		const original = await send(url, { path: `/palimpsest/originals/${ref}` });
		expect(original.headers["content-type"]).toBe("text/plain; charset=utf-8");
		expect(original.body.toString()).toBe(turns[0]?.output);
	});

	it("says which requests got no new decisions, and why, as the status does", async () => {
		const real = (await openArchive({ where: "memory" })) as Archive;
		const put = () => Promise.reject(new PalimpsestError("archive_unavailable", "The archive is away."));
		const { start } = await startPlayed({ archive: { ...real, put } });
		const proxy = await start();
		await play(proxy, turnsOf(4, 20_000));
		expect((await statusOf(proxy)).undecided).toEqual({ archive: 3 });
		const html = (await send(proxy.url, { path: "/palimpsest/" })).body.toString();
		expect(html).toContain("3 requests without new decisions (the archive cannot be written: 3)");
		expect((await send((await startUsed()).url, { path: "/palimpsest/" })).body.toString()).not.toContain(
			"without new decisions",
		);
	});

	it("runs no script", async () => {
		const { url } = await startUsed();
		const page = await send(url, { path: "/palimpsest/" });
		const html = page.body.toString();
		expect(page.headers["content-security-policy"]).toContain("default-src 'none'");
		expect(html).toContain("default-src 'none'");
		expect(html).not.toMatch(/<script(?! type="application\/json")/);
	});

	it("and the status hold no key, and no text of the conversation", async () => {
		const { url, turns } = await startUsed();
		for (const path of ["/palimpsest/", "/palimpsest/status"]) {
			const text = (await send(url, { path })).body.toString();
			for (const secret of ["sk-secret-key", "secret words", turns[0]?.output.slice(0, 30) as string]) {
				expect(text).not.toContain(secret);
			}
		}
	});

	it("says that the proxy runs, which version, and in which process", async () => {
		const proxy = await startProxyTo("http://127.0.0.1:9");
		const { status, headers, body } = await send(proxy.url, { path: "/palimpsest/healthz" });
		expect([status, headers["content-type"]]).toEqual([200, "application/json; charset=utf-8"]);
		expect(JSON.parse(body.toString())).toEqual({ status: "ok", version, pid: process.pid });
	});

	it.each([
		["GET", "/palimpsest/originals/nothing", 404],
		["GET", "/palimpsest/originals/..%2f..%2fetc", 404],
		["GET", "/palimpsest/other", 404],
		["POST", "/palimpsest/status", 405],
		["DELETE", "/palimpsest/", 405],
	])("answers %s %s with %i, and the upstream sees none of it", async (method, path, status) => {
		const upstream = await startUpstream();
		const archive = (await openArchive({ where: "memory" })) as Archive;
		const proxy = await startProxyTo(upstream.url, { archive });
		expect((await send(proxy.url, { method, path })).status).toBe(status);
		expect(upstream.received).toEqual([]);
	});
});
