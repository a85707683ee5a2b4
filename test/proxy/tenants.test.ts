import { describe, expect, it } from "vitest";
import type { LiveStatus } from "../../src/pages/live-data.ts";
import { linesIn, sendSettled } from "./played.ts";
import { requestOf, turnsOf } from "./sessions.ts";
import { from, type Person, startTeam, tokens } from "./team.ts";
import { send, sendOwn } from "./upstream.ts";

const task = "A task that both have.";

describe("two callers with the same text", () => {
	it("share no original, no state and no figure: 0 of 1 000 tries reach what is the other's", async () => {
		const team = await startTeam();
		const proxy = await team.start();
		const turns = turnsOf(6, 6_000);
		const secret = "a line that Ann alone has read";
		const ofAnn = turns.map((turn, at) => ({ ...turn, output: `${secret} ${at}\n${turn.output}` }));
		const play = async (person: Person, all: typeof turns) => {
			for (let count = 1; count <= all.length; count += 1)
				await sendSettled(proxy, from(person, requestOf("anthropic", all.slice(0, count), task)));
		};
		await play("ann", ofAnn);
		const view = (person: Person, path: string) =>
			send(proxy.url, { path: `/palimpsest/${path}`, headers: { Authorization: `Bearer ${tokens[person]}` } });
		const statusOf = async (person: Person, query = "") =>
			JSON.parse((await view(person, `status${query}`)).body.toString()) as LiveStatus;
		const [annsConversation] = (await statusOf("ann")).conversations;
		const refs = annsConversation?.results.flatMap(({ ref }) => ref ?? []) ?? [];
		expect(refs.length).toBeGreaterThan(2);
		expect((await view("ann", `originals/${refs[0]}`)).body.toString()).toContain(secret);
		expect(team.lastTexts().filter((text) => text.startsWith(secret)).length).toBeLessThan(6);
		// The same calls with the same ids, and other results.
		await play("ben", turns);

		let [tries, reached] = [0, 0];
		for (let round = 0; round < 50; round += 1) {
			const ref = refs[round % refs.length] as string;
			const digits = (round * 7_919).toString(16).padStart(15, "0");
			const faces: (() => Promise<string>)[] = [
				...Array.from({ length: 12 }, (_, at) => async () => {
					return (await view("ben", `originals/${at === 0 ? digits : ref.slice(0, 4 + at)}`)).body.toString();
				}),
				async () => (await send(proxy.url, { path: `/palimpsest/originals/${ref}` })).body.toString(),
				async () => (await sendOwn(proxy.url, { path: `/palimpsest/originals/${ref}` })).body.toString(),
				async () => JSON.stringify(await statusOf("ben", `?conversation=${annsConversation?.id}`)),
				async () => (await view("ben", "")).body.toString(),
				async () => (await sendOwn(proxy.url, { path: "/palimpsest/status" })).body.toString(),
				async () => (await sendOwn(proxy.url, { path: "/palimpsest/" })).body.toString(),
				async () => {
					const archive = await team.callers.archiveOf("token ben");
					return (await archive?.get(ref).catch(() => undefined))?.text ?? "";
				},
				async () => {
					const asks = { name: "mcp__palimpsest__recall_original", input: { ref } };
					const turn = {
						id: `toolu_01GuessOfBen${String(round).padStart(6, "0")}`,
						command: "",
						output: "?",
						call: asks,
					};
					await sendSettled(proxy, from("ben", requestOf("anthropic", [turn], `Guess ${round}`)));
					return team.lastBody();
				},
			];
			for (const face of faces) {
				tries += 1;
				if ((await face()).includes(secret)) reached += 1;
			}
		}
		expect([tries, reached]).toEqual([1_000, 0]);

		// Also of the text that Ann has sent, nothing is decided for Ben.
		await sendSettled(proxy, from("ben", requestOf("anthropic", ofAnn.slice(0, 5), task)));
		expect(team.lastTexts().filter((text) => text.startsWith(secret))).toHaveLength(5);

		const mine = await statusOf("ben");
		expect(mine.conversations.map(({ id }) => id)).not.toContain(annsConversation?.id);
		const lines = await linesIn(team.figuresFolder, "request");
		expect(new Set(lines.map(({ person }) => person))).toEqual(new Set(["ann", "ben"]));
		expect(lines.filter(({ person }) => person === "ann")).toHaveLength(6);
	}, 60_000);
});

describe("the pages of a proxy with several callers", () => {
	it("show a person what is theirs, and an operator the figures of all without content", async () => {
		const team = await startTeam({ metrics: true });
		const proxy = await team.start();
		const turns = turnsOf(5, 6_000);
		for (let count = 1; count <= turns.length; count += 1)
			await sendSettled(proxy, from("ann", requestOf("anthropic", turns.slice(0, count))));
		await sendSettled(proxy, from("ben", requestOf("anthropic", turns.slice(0, 1))));

		const operators = JSON.parse(
			(await sendOwn(proxy.url, { path: "/palimpsest/status" })).body.toString(),
		) as LiveStatus;
		expect(operators.requests.requests).toBe(6);
		const rows = operators.conversations.map(({ id, requests, points, results }) => [id, requests, points, results]);
		expect(rows).toEqual([
			["ann", 5, [], []],
			["ben", 1, [], []],
		]);
		const metrics = await sendOwn(proxy.url, { path: "/palimpsest/metrics" });
		expect(metrics.body.toString()).toContain('palimpsest_proxy_requests_total{kind="all"} 6');
		const { totals } = proxy;
		expect(totals()).toMatchObject({ asked: 6, requests: 6 });

		const page = await send(proxy.url, { path: `/palimpsest/?key=${tokens.ann}` });
		const [cookie = ""] = String(page.headers["set-cookie"]).split(";");
		const own = await send(proxy.url, { path: "/palimpsest/status", headers: { Cookie: cookie } });
		expect(JSON.parse(own.body.toString()).conversations).toHaveLength(1);
		expect(JSON.parse(own.body.toString()).requests.requests).toBe(5);
		for (const path of ["", "status", "metrics", "originals/abcd"])
			for (const headers of [{}, { Authorization: "Bearer sk-somebody" }] as const)
				expect((await send(proxy.url, { path: `/palimpsest/${path}`, headers })).status).toBe(401);
		expect((await send(proxy.url, { path: "/palimpsest/metrics", headers: { Cookie: cookie } })).status).toBe(404);
		expect((await sendOwn(proxy.url, { path: "/palimpsest/originals/abcd" })).status).toBe(404);
	});

	it("and its health need no token", async () => {
		const proxy = await (await startTeam()).start();
		for (const path of ["/healthz", "/readyz", "/palimpsest/readyz"])
			expect((await send(proxy.url, { path })).status).toBe(200);
	});
});
