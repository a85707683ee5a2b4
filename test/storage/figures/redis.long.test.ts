import { describe, expect, it } from "vitest";
import { openRedisFigures } from "../../../src/storage/figures/redis.ts";
import { openFigures } from "../../../src/storage/figures/store.ts";
import { runHere } from "../../support/run-here.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";
import { connectRedis, hasRedis, startRedis } from "../archive/start-redis.ts";

const request = {
	kind: "request",
	model: "m",
	input: 10,
	read: 0,
	write: 0,
	output: 1,
	left_out: 5,
	billed: 10,
} as const;

describe.skipIf(!hasRedis)("figures in Redis", () => {
	it("are summed over all processes by person, project and model, and last when originals are cleared", async () => {
		const redis = await startRedis();
		const instances = await Promise.all([1, 2, 3].map(() => openRedisFigures({ url: redis.url, namespace: "team" })));
		for (const [at, { write }] of instances.entries()) {
			const ann = openFigures({ keep: "all", person: "ann", write });
			const ben = openFigures({ keep: "private", person: "ben", write });
			for (let count = 0; count <= at; count += 1) ann.add(request, { program: "claude-cli/2.1", project: "shop" });
			ben.add({ ...request, model: "other" }, { project: "shop" });
		}
		await Promise.all(instances.map(({ close }) => close()));
		const folder = await scratchFolder();
		const where = ["--archive", redis.url, "--namespace", "team"];
		const stats = async (by: string) =>
			JSON.parse((await runHere(["stats", "--json", "--by", by, ...where], { folder })).text).by.map(
				(row: { name: string; requests: number }) => [row.name, row.requests],
			);
		await runHere(["archive", "clear", "--yes", ...where], { folder });
		expect(await stats("person")).toEqual([
			["ann", 6],
			["ben", 3],
		]);
		expect(await stats("model")).toEqual([
			["m", 6],
			["other", 3],
		]);
		const [[named], [hashed]] = await stats("project");
		expect([named, /^[0-9a-f]{10}$/.test(hashed)]).toEqual(["shop", true]);
		const { text, code } = await runHere(["stats", ...where], { folder });
		expect([code, text]).toEqual([0, expect.stringContaining("9 requests")]);
	});

	it("wait while Redis is away, and are written once", async () => {
		const redis = await startRedis();
		const figures = await openRedisFigures({ url: redis.url, namespace: "team" });
		const other = await connectRedis({ url: redis.url });
		await other.send([["CONFIG", "SET", "maxmemory", "1"]]);
		openFigures({ keep: "all", write: figures.write }).add(request);
		await figures.flush();
		await other.send([["CONFIG", "SET", "maxmemory", "0"]]);
		await figures.flush();
		await figures.flush();
		const lines: unknown[] = [];
		for await (const line of figures.read({ since: 0 })) lines.push(line);
		await figures.close();
		expect(lines).toHaveLength(1);
	});
});
