import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it, vi } from "vitest";
import type { AdapterOptions } from "../../../src/hosts/adapters/adapter.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";
import { agentTurns, type SentItem, strictProvider } from "./agent-script.ts";

export type Turns = ReturnType<typeof agentTurns>;
export type Provider = ReturnType<typeof strictProvider>;

/** A framework that plays a script. What it exports is not typed, since it is not installed where types are checked. */
export interface Driver {
	/** Packages in their versions. The first one is the framework. */
	readonly packages: Readonly<Record<string, string>>;
	/** Whether the provider checks what its reasoning is bound to. */
	readonly checksReasoning?: boolean;
	/** What the framework has of its own to keep a history small, set to lose about as many results as the adapter. */
	readonly trimmings?: Readonly<Record<string, Trimming>>;
	/** Plays the turns, with the adapter if there are options for it, or with a trimming. Returns what the framework kept, without ids and times. */
	readonly play: (what: {
		readonly turns: Turns;
		readonly provider: Provider;
		readonly options: AdapterOptions | undefined;
		readonly trimming?: ReturnType<Trimming>;
		// biome-ignore lint/suspicious/noExplicitAny: its types are in a package that is not installed here.
		readonly load: (name: string) => Promise<any>;
	}) => Promise<unknown>;
}

// biome-ignore lint/suspicious/noExplicitAny: as `load`.
type Trimming = (load: (name: string) => Promise<any>) => Promise<any>;

/** Plays 60 turns with and without the adapter. */
export function playsSixtyTurns(name: string, driver: Driver): void {
	it(`60 turns of ${name} cost less, and are stored as without the adapter`, async ({ skip, onTestFinished }) => {
		const home = await installed(name, driver.packages);
		if (home === undefined) return skip("npm does not install its packages.");
		const found = createRequire(join(home, "package.json"));
		const load = (module: string) => import(pathToFileURL(found.resolve(module)).href);
		const folder = await scratchFolder();
		for (const name of Object.keys(process.env)) if (name.startsWith("PALIMPSEST_")) vi.stubEnv(name, undefined);
		vi.stubEnv("XDG_STATE_HOME", join(folder, "state"));
		onTestFinished(() => void vi.unstubAllEnvs());
		const turns = agentTurns(60);
		const checks = { checksReasoning: driver.checksReasoning === true };
		const [alone, ours] = [strictProvider(checks), strictProvider(checks)];
		const faults: string[] = [];
		const options = { archive: "memory", folder, onFault: (line: string) => faults.push(line) };
		const kept = await driver.play({ turns, provider: alone, options: undefined, load });
		const keptWithUs = await driver.play({ turns, provider: ours, options, load });
		expect([faults, ours.refusals, alone.refusals]).toEqual([[], [], []]);
		expect(ours.requests).toHaveLength(turns.length + 1);
		expect(keptWithUs).toEqual(kept);
		const breaks = ours.breaks();
		const figures = { tokens: ours.tokens() / alone.tokens(), billed: ours.billed() / alone.billed() };
		process.stdout.write(`${name}: ${JSON.stringify({ ...figures, breaks: breaks.length })}\n`);
		expect(figures.tokens).toBeLessThan(0.6);
		expect(figures.billed).toBeLessThan(0.8);
		expect(breaks.length).toBeLessThan(4);
		for (const { before, after } of breaks) {
			expect([before.role, after.role]).toEqual(["tool", "tool"]);
			expect(after.text.length).toBeLessThan(before.text.length);
		}
		for (const [trimmed, make] of Object.entries(driver.trimmings ?? {})) {
			// A provider that binds its reasoning refuses what some of them leave.
			const own = strictProvider({ checksReasoning: false });
			const trimming = await make(load);
			await driver.play({ turns, provider: own, options: undefined, trimming, load });
			const than = { tokens: own.tokens() / alone.tokens(), billed: own.billed() / alone.billed() };
			const lost = [lostResults(own), lostResults(ours)] as const;
			process.stdout.write(
				`${name}, ${trimmed}: ${JSON.stringify({ ...than, lost, refusals: own.refusals.length })}\n`,
			);
			expect(lost[1]).toBeLessThanOrEqual(lost[0]);
			expect(figures.tokens).toBeLessThan(than.tokens);
			expect(figures.billed).toBeLessThan(than.billed);
		}

		/** Results that the model has called for and is not shown, over all requests. */
		function lostResults({ requests }: Provider): number {
			const made = (request: number) => turns.slice(0, request).flat().length;
			const shown = (items: readonly SentItem[]) =>
				items.reduce((sum, { results, text }) => sum + (text.length > 500 * results.length ? results.length : 0), 0);
			return requests.reduce((sum, items, request) => sum + made(request) - shown(items), 0);
		}
	}, 300_000);
}

/** The folder under `build` with these packages; `undefined` where npm does not install them. */
export async function installed(name: string, packages: Driver["packages"]): Promise<string | undefined> {
	const home = resolve(import.meta.dirname, "../../../build/frameworks", name);
	if (existsSync(join(home, "node_modules", Object.keys(packages)[0] ?? ""))) return home;
	await mkdir(home, { recursive: true });
	await writeFile(join(home, "package.json"), JSON.stringify({ private: true, dependencies: packages }));
	const flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error"];
	const { status } = spawnSync("npm", ["install", ...flags], { cwd: home, shell: process.platform === "win32" });
	return status === 0 ? home : undefined;
}

/** One item for all that the model said in a row, as providers pair calls. */
export function joinedItems(items: readonly SentItem[]): SentItem[] {
	const joined: SentItem[] = [];
	for (const item of items) {
		const last = joined.at(-1);
		if (item.role !== "assistant" || last?.role !== "assistant") joined.push(item);
		else {
			joined[joined.length - 1] = {
				role: "assistant",
				calls: [...last.calls, ...item.calls],
				results: [],
				reasoning: [...last.reasoning, ...item.reasoning],
				text: `${last.text}\n${item.text}`,
			};
		}
	}
	return joined;
}
