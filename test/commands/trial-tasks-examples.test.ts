import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findTasks, makeTree, problemAtStart, runCheck } from "../../src/commands/trial-tasks.ts";
import { packageFolder } from "../support/built-cli.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

const limits = { seconds: 60, signal: new AbortController().signal };
const examples = join(packageFolder, "examples/trial");

/** A solution of each task, from what its files say. */
const solutions: Readonly<Record<string, (copy: string) => Promise<void>>> = {
	currency: solveCurrency,
	incident: solveIncident,
	stock: solveStock,
};

describe.skipIf(process.platform === "win32")("the tasks that come with the package", () => {
	it("fail at the start, and pass with their solutions", async () => {
		const { tasks, notRun } = await findTasks(examples);
		expect(notRun).toEqual([]);
		expect(tasks.map(({ name }) => name)).toEqual(Object.keys(solutions));
		for (const task of tasks) {
			expect(await problemAtStart(task, limits)).toBeUndefined();
			const copy = join(await scratchFolder(), "copy");
			expect(await makeTree(task, { copy, ...limits })).toBeUndefined();
			await solutions[task.name]?.(copy);
			expect(await runCheck(task, { cwd: copy, ...limits })).toEqual({ kind: "solved" });
		}
	});
});

async function textsIn(folder: string): Promise<Map<string, string>> {
	const names = (await readdir(folder)).sort();
	return new Map(
		await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name), "utf8")] as const)),
	);
}

const answer = (copy: string, value: unknown) => writeFile(join(copy, "answer.json"), JSON.stringify(value));

/** Follows each request that failed back to the gateway. */
async function solveIncident(copy: string): Promise<void> {
	const logs = await textsIn(join(copy, "logs"));
	const [from, orders, failed] = [
		new Map<string, [service: string, request: string]>(),
		new Map<string, string>(),
		[] as [string, string][],
	];
	for (const [file, text] of logs) {
		const service = file.replace(".log", "");
		for (const line of text.split("\n")) {
			const [, order, request = "", end = ""] = /(?:order=(\d+) )?req=(\w+) (.*)$/.exec(line) ?? [];
			const [, next, sent] = /then sent to (\w+) as req=(\w+)$/.exec(end) ?? [];
			if (order) orders.set(request, order);
			if (next && sent) from.set(`${next} ${sent}`, [service, request]);
			if (end.includes("then failed")) failed.push([service, request]);
		}
	}
	const found = failed.map(([service, request]) => {
		const path = [service];
		let at: readonly [string, string] = [service, request];
		for (let before = from.get(at.join(" ")); before; before = from.get(at.join(" "))) {
			at = before;
			path.unshift(at[0]);
		}
		return [orders.get(at[1]) ?? "", path] as const;
	});
	await answer(copy, Object.fromEntries(found));
}

async function solveStock(copy: string): Promise<void> {
	const all = [...(await textsIn(join(copy, "reports"))).values()].join("\n");
	const goodsOf = new Map<string, string>();
	const totals: Record<string, number> = { "copper wire": 0, "brass screws": 0, "oak boards": 0 };
	const add = (goods: string, crates: number) => {
		if (goods in totals) totals[goods] = (totals[goods] ?? 0) + crates;
	};
	for (const report of all.split("# Stock of ").slice(1)) {
		const [warehouse = ""] = report.split("\n");
		for (const [, shelf, crates, goods = "", damaged = 0] of report.matchAll(
			/shelf ([A-D]-\d+)(?: we counted| holds|) (\d+) crates of ([a-z ]+)(?:, (\d+) of them damaged)?\./gi,
		)) {
			goodsOf.set(`${warehouse} ${shelf}`, goods);
			add(goods, Number(crates) - Number(damaged));
		}
	}
	for (const [, warehouse, shelf, crates, way] of all.matchAll(
		/report of (\w+): shelf ([A-D]-\d+) holds (\d+) sound crates (more|fewer)/g,
	)) {
		add(goodsOf.get(`${warehouse} ${shelf}`) ?? "", way === "more" ? Number(crates) : -Number(crates));
	}
	await answer(copy, totals);
}

async function solveCurrency(copy: string): Promise<void> {
	const countries = await readFile(join(copy, "shop/countries.md"), "utf8");
	const towns = join(copy, "shop/towns");
	for (const [name, text] of await textsIn(towns)) {
		const town = /^\/\/ The shop in (\w+)/.exec(text)?.[1] ?? "";
		const currency = countries
			.split("\n")
			.find((row) => row.includes(town))
			?.split("|")[2]
			?.trim();
		const changed = text.replace(/price\(("\w+"), (\w+)\)/g, `price($1, { quantity: $2, currency: "${currency}" })`);
		await writeFile(join(towns, name), changed.replaceAll("quantity: quantity,", "quantity,"));
	}
}
