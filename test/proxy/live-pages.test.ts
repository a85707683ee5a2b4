import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { PalimpsestError } from "../../src/errors.ts";
import { type LiveStatus, tilesOf } from "../../src/pages/live-data.ts";
import { createKeys, pageAddress } from "../../src/proxy/keys.ts";
import type { Archive } from "../../src/storage/archive/archive.ts";
import { openArchive } from "../../src/storage/archive/open.ts";
import { version } from "../../src/version.ts";
import { hashOf, readPage } from "../pages/read-page.ts";
import { early, play, sendSettled, startPlayed, statusOf } from "./played.ts";
import { requestOf, turnsOf } from "./sessions.ts";
import { keys, send, sendOwn, startProxyTo, startUpstream, until } from "./upstream.ts";

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
	it("shows the figures, and names each masked result with the address of its original", async () => {
		const { url, turns, archive } = await startUsed();
		const page = await sendOwn(url, { path: "/palimpsest/" });
		expect(page.headers["content-type"]).toBe("text/html; charset=utf-8");
		const { data } = readPage(page.body.toString());
		expect(tilesOf(data).map(({ value }) => value)).toContain("6");
		const ref = archive.refOf(turns[0]?.output as string);
		expect(data.conversations[0]).toMatchObject({ model: "claude-sonnet-4-5", requests: 6 });
		expect(data.conversations[0].results).toContainEqual(
			expect.objectContaining({ what: "masked", why: "it pays", ref }),
		);
		const original = await sendOwn(url, { path: `/palimpsest/originals/${ref}` });
		expect(original.headers["content-type"]).toBe("text/plain; charset=utf-8");
		expect(original.body.toString()).toBe(turns[0]?.output);
	});

	it("shows figures without a script, too", async () => {
		const { url } = await startUsed();
		const html = (await sendOwn(url, { path: "/palimpsest/" })).body.toString();
		const [, text = ""] = /<noscript>([\s\S]*)<\/noscript>/.exec(html) ?? [];
		expect(text).toMatch(
			/<p>6 requests, \d of them edited, since .* Tokens sent [\d,]+, left out [\d,]+\. Billed [\d,]+/,
		);
		expect(text).toContain("<p>claude-sonnet-4-5, edited, ");
	});

	it("says which requests got no new decisions, and why, as the status does", async () => {
		const real = (await openArchive({ where: "memory" })) as Archive;
		const put = () => Promise.reject(new PalimpsestError("archive_unavailable", "The archive is away."));
		const { start } = await startPlayed({ archive: { ...real, put } });
		const proxy = await start();
		await play(proxy, turnsOf(4, 20_000));
		expect((await statusOf(proxy)).undecided).toEqual({ archive: 3 });
		const html = (await sendOwn(proxy.url, { path: "/palimpsest/" })).body.toString();
		expect(html).toContain("3 requests without new decisions (the archive cannot be written: 3)");
		const decided = (await sendOwn((await startUsed()).url, { path: "/palimpsest/" })).body.toString();
		expect(decided).not.toMatch(/\d requests without new decisions/);
	});

	it("runs its own scripts alone, which reach no other server", async () => {
		const { url } = await startUsed();
		const page = await sendOwn(url, { path: "/palimpsest/" });
		const { scripts, styles, policy } = readPage(page.body.toString());
		expect(page.headers["content-security-policy"]).toBe(`${policy}; frame-ancestors 'none'`);
		const sources = (name: string) => new RegExp(`(?:^|; )${name} ([^;]*)`).exec(policy)?.[1];
		const hashes = (texts: readonly string[]) => texts.map((text) => `'${hashOf(text)}'`).join(" ");
		expect(sources("default-src")).toBe("'none'");
		expect([sources("script-src"), scripts.length]).toEqual([hashes(scripts), 2]);
		expect(sources("style-src")).toBe(hashes(styles));
		expect(sources("connect-src")).toBe("'self'");
		const { headers } = await sendOwn(url, { path: "/palimpsest/status" });
		expect(headers["content-security-policy"]).toBe("default-src 'none'; frame-ancestors 'none'");
	});

	it("is asked for by one address, beside which the others are", async () => {
		const { url } = await startUsed();
		const { status, headers } = await sendOwn(url, { path: "/palimpsest" });
		expect([status, headers.location]).toEqual([308, "/palimpsest/"]);
	});

	it("and the status hold no key, and no text of the conversation", async () => {
		const { url, turns } = await startUsed();
		for (const path of ["/palimpsest/", "/palimpsest/status"]) {
			const text = (await sendOwn(url, { path })).body.toString();
			for (const secret of ["sk-secret-key", "secret words", turns[0]?.output.slice(0, 30) as string]) {
				expect(text).not.toContain(secret);
			}
		}
	});

	it("lists the requests of one conversation alone where it is asked to, and sends nothing that is known", async () => {
		const { url, ...proxy } = await startUsed();
		for (const [first, turns] of [["A second task.", 9] as const, ["A third one.", 1] as const]) {
			const own = turnsOf(9, 3_000).map((turn) => ({ ...turn, id: `${turn.id}${turns}` }));
			for (let count = 1; count <= turns; count += 1)
				await sendSettled({ url, ...proxy }, requestOf("anthropic", own.slice(0, count), first));
		}
		const ask = (id: string, headers = {}) =>
			sendOwn(url, { path: `/palimpsest/status?conversation=${encodeURIComponent(id)}`, headers });
		const listed = async (id: string) => {
			const { conversations } = JSON.parse((await ask(id)).body.toString()) as LiveStatus;
			return conversations.flatMap((one) => (one.points.length > 0 ? [[one.id, one.points.length]] : []));
		};
		const { conversations } = (await statusOf({ url })) as LiveStatus;
		expect(conversations.map(({ points }) => points.length)).toEqual([1, 9, 6]);
		const [latest, busiest, first] = conversations.map(({ id }) => id);
		expect(await listed(latest as string)).toEqual([[latest, 1]]);
		expect(await listed(first as string)).toEqual([[first, 6]]);
		for (const unknown of ["", "nothing"]) expect(await listed(unknown)).toEqual([[busiest, 9]]);

		const { headers } = await ask("");
		const again = await ask("", { "If-None-Match": headers.etag });
		expect([again.status, again.body.length, again.headers["cache-control"]]).toEqual([304, 0, "no-store"]);
		expect((await ask(latest as string, { "If-None-Match": headers.etag })).status).toBe(200);
	});

	it("answers a waiting page with each request as it is entered, also the last one before the proxy ends", async () => {
		const proxy = await startUsed();
		const told: LiveStatus[] = [];
		const ask = async (tag = "") => {
			const headers = { "If-None-Match": tag, Prefer: "wait=20" };
			const answer = await sendOwn(proxy.url, { path: "/palimpsest/status?conversation=", headers });
			if (answer.status === 200) told.push(JSON.parse(answer.body.toString()));
			return answer.headers.etag ?? "";
		};
		const asking = (async () => {
			for (let tag = await ask(); ; ) tag = await ask(tag);
		})().catch(() => {});
		const requests = () => told.map(({ conversations }) => conversations[0]?.requests);
		await until(() => told.length === 1);
		const next = (count: number) =>
			send(proxy.url, requestOf("anthropic", turnsOf(count, 6_000), "A task with <b>markup</b> & secret words."));
		await next(7);
		await until(() => told.length === 2);
		await next(8);
		await proxy.close();
		await asking;
		expect(requests()).toEqual([6, 7, 8]);
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
		const headers = { Authorization: `Bearer ${keys.page}` };
		expect((await send(proxy.url, { method, path, headers })).status).toBe(status);
		expect(upstream.received).toEqual([]);
	});
});

describe("the key of the pages", () => {
	const pages = ["/palimpsest/", "/palimpsest/status", "/palimpsest/originals/nothing", "/palimpsest/metrics"];

	async function statusFrom(url: string, path: string, headers: Readonly<Record<string, string>> = {}) {
		return (await send(url, { path, headers: { "Sec-Fetch-Site": "none", ...headers } })).status;
	}

	it.each(pages)("is asked for by %s, and a wrong one opens nothing", async (path) => {
		const proxy = await startProxyTo("http://127.0.0.1:9", { metrics: true });
		const wrong = keys.page.replace(/.$/, "!");
		for (const given of ["", `?key=`, `?key=${wrong}`]) expect(await statusFrom(proxy.url, path + given)).toBe(401);
		for (const given of [`Bearer ${wrong}`, "Bearer ", `Basic ${keys.page}`, keys.page])
			expect(await statusFrom(proxy.url, path, { Authorization: given })).toBe(401);
		for (const given of [`palimpsest-${proxy.port}=${wrong}`, `palimpsest-1=${keys.page}`, `other=${keys.page}`])
			expect(await statusFrom(proxy.url, path, { Cookie: given })).toBe(401);
		expect(await statusFrom(proxy.url, path, { Authorization: `Bearer ${keys.page}` })).not.toBe(401);
	});

	it("stays in a cookie of the browser that opened the address, which pages of other sites and scripts do not see", async () => {
		const proxy = await startProxyTo("http://127.0.0.1:9");
		const page = await send(proxy.url, { path: pageAddress("", keys) });
		const [cookie = ""] = page.headers["set-cookie"] ?? [];
		expect([page.status, cookie]).toEqual([
			200,
			`palimpsest-${proxy.port}=${keys.page}; Path=/palimpsest; HttpOnly; SameSite=Strict`,
		]);
		const [pair = ""] = cookie.split(";");
		expect(await statusFrom(proxy.url, "/palimpsest/status", { Cookie: `a=b; ${pair}; c=d` })).toBe(200);
		expect(page.headers["referrer-policy"]).toBe("no-referrer");
	});

	it("is new for each proxy that is given none", async () => {
		const [one, other] = await Promise.all([1, 2].map(() => startProxyTo("http://127.0.0.1:9", { keys: undefined })));
		for (const { url } of [one, other] as { url: string }[])
			expect((await sendOwn(url, { path: "/palimpsest/" })).status).toBe(401);
		expect(createKeys().page).not.toBe(createKeys().page);
	});

	it.runIf(process.platform === "linux")(
		"is not asked for by the figures, where a program of the same user asks",
		async () => {
			const proxy = await startProxyTo("http://127.0.0.1:9", { metrics: true });
			const asked = pages.map(async (path) => (await fetch(proxy.url + path)).status);
			expect(await Promise.all(asked)).toEqual([401, 200, 401, 200]);
			expect((await send(proxy.url, { path: "/palimpsest/status", headers: { Origin: proxy.url } })).status).toBe(401);
		},
	);

	it.runIf(process.platform === "linux" && process.getuid?.() === 0)(
		"is asked for by all of them, where another user asks",
		async () => {
			const proxy = await startProxyTo("http://127.0.0.1:9", { metrics: true });
			// From the proxy's own port at another address, the accepted connection looks the same but for its addresses.
			const ask = `
			const { get } = await import("node:http");
			const ends = [{}, ...["127.0.0.2", "127.0.0.3", "127.0.0.5"].map((localAddress) => ({ localAddress, localPort: ${proxy.port} }))];
			for (const path of ${JSON.stringify(pages)}) for (const end of ends)
				await new Promise((resolve) => get("${proxy.url}" + path, { ...end, agent: false }, (answer) => {
					process.stdout.write(answer.statusCode + " ");
					answer.resume().on("end", resolve);
				}).on("error", () => resolve()));`;
			const nobody = { uid: 65_534, gid: 65_534, cwd: "/", env: {} };
			const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", ask], nobody);
			expect(new Set(stdout.trim().split(" "))).toEqual(new Set(["401"]));
		},
	);

	it("is needed by no request to a model, and by no question whether the proxy runs", async () => {
		const upstream = await startUpstream();
		const proxy = await startProxyTo(upstream.url);
		expect((await send(proxy.url, requestOf("anthropic", turnsOf(1)))).status).toBe(200);
		expect(await statusFrom(proxy.url, "/palimpsest/healthz")).toBe(200);
	});
});
