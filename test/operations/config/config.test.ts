import { writeFileSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { PalimpsestError } from "../../../src/errors.ts";
import {
	type ConfigSources,
	createPolicySource,
	findPolicyFiles,
	ignoredWarning,
	loadConfig,
	type PolicySource,
} from "../../../src/operations/config/config.ts";
import { patience } from "../../support/patience.ts";
import { runCli } from "../../support/run-cli.ts";

let root: string;

let work: string;

let home: string;

const inWork = (name = "palimpsest.toml") => path.join(work, name);

const sources = (more: Partial<ConfigSources> = {}): ConfigSources => ({
	environment: {},
	workingDirectory: work,
	home,
	platform: "linux",
	...more,
});

beforeEach(async () => {
	root = await mkdtemp(path.join(tmpdir(), "palimpsest-config-"));
	work = path.join(root, "work");
	home = path.join(root, "home");
	await mkdir(work);
	await mkdir(path.join(home, ".config", "palimpsest"), { recursive: true });
});

afterEach(() => rm(root, { recursive: true, force: true }));

describe("the location of the policy file", () => {
	const files = (more: Partial<ConfigSources> = {}) => findPolicyFiles(sources(more));

	it("is the flag, PALIMPSEST_POLICY, or else the user's folder and the working directory", async () => {
		const users = path.join(home, ".config", "palimpsest", "palimpsest.toml");
		expect(await files()).toEqual({ file: null, found: null });
		await writeFile(inWork(), "");
		expect(await files()).toEqual({ file: null, found: inWork() });
		await writeFile(users, "");
		expect(await files()).toEqual({ file: users, found: inWork() });
		const environment = { PALIMPSEST_POLICY: "named.toml" };
		expect(await files({ environment })).toEqual({ file: inWork("named.toml"), found: null });
		expect(await files({ environment: { PALIMPSEST_POLICY: "" } })).toEqual({ file: users, found: inWork() });
		expect((await files({ environment, policyFile: "flag.toml" })).file).toBe(inWork("flag.toml"));
		expect((await files({ policyFile: "~/flag.toml" })).file).toBe(path.join(home, "flag.toml"));
	});

	it("is the user's own where the working directory is the user's folder", async () => {
		const users = path.join(home, ".config", "palimpsest");
		await writeFile(path.join(users, "palimpsest.toml"), "");
		const own = { file: path.join(users, "palimpsest.toml"), found: null };
		expect(await files({ workingDirectory: users })).toEqual(own);
	});

	it("follows an absolute XDG_CONFIG_HOME, and APPDATA on Windows", async () => {
		const folder = path.join(root, "settings");
		const file = path.join(folder, "palimpsest", "palimpsest.toml");
		await mkdir(path.dirname(file), { recursive: true });
		await writeFile(file, "");
		expect((await files({ environment: { XDG_CONFIG_HOME: folder } })).file).toBe(file);
		expect((await files({ environment: { XDG_CONFIG_HOME: "settings" } })).file).toBeNull();
		expect((await files({ environment: { APPDATA: folder }, platform: "win32" })).file).toBe(file);
		expect((await files({ environment: { APPDATA: folder } })).file).toBeNull();
	});
});

describe("loadConfig", () => {
	it("returns the defaults without configuration", async () => {
		const config = await loadConfig(sources());
		expect(config.file).toBeNull();
		expect(config.policy.preset).toBe("observation-masking");
		expect(config.policy.mask.window_turns).toBe(8);
	});

	it("merges file, environment and --set", async () => {
		await writeFile(
			inWork(),
			'preset = "context-trim"\n[guard]\nreserve_tokens = 1\n[mask]\nwindow_turns = 1\nkeep_last_k_per_tool = 1\n',
		);
		const environment = { PALIMPSEST_MASK_WINDOW_TURNS: "2", PALIMPSEST_MASK_KEEP_LAST_K_PER_TOOL: "2" };
		const config = await loadConfig(sources({ environment, settings: ["mask.keep_last_k_per_tool=3"] }));
		expect(config).toMatchObject({ file: null, found: inWork(), ignored: [] });
		expect(config.layers).toHaveLength(3);
		expect(config.policy.guard).toMatchObject({ budget_ratio: 0.8, reserve_tokens: 1 });
		expect(config.policy.mask).toMatchObject({ enabled: false, window_turns: 2, keep_last_k_per_tool: 3 });
	});

	const hostile =
		'[archive]\nmax_bytes = 1\nredact = []\n[mask]\nwindow_turns = 3\n[compaction]\nstrategy = "./x.mjs#X"\n';

	it("lays a found file over the user's own, without the fields that it may not set", async () => {
		const users = path.join(home, ".config", "palimpsest", "palimpsest.toml");
		await writeFile(
			users,
			'[archive]\nmax_bytes = 5000\nredact = ["SECRET"]\n[mask]\nwindow_turns = 7\nstride_turns = 4\n',
		);
		await writeFile(inWork(), hostile);
		const config = await loadConfig(sources());
		expect(config.policy.archive).toMatchObject({ max_bytes: 5000, redact: ["SECRET"] });
		expect(config.policy.mask).toMatchObject({ window_turns: 3, stride_turns: 4 });
		expect(config.policy.compaction.strategy).toBe("hiding-then-summary");
		expect(config.ignored.map(({ key }) => key)).toEqual([
			"compaction.strategy",
			"archive.max_bytes",
			"archive.redact",
		]);
		const warning = ignoredWarning(config);
		expect(warning).toMatch(
			/palimpsest\.toml sets compaction\.strategy, archive\.max_bytes, archive\.redact without effect/,
		);
		expect(warning).not.toMatch(/\n/);
		expect(ignoredWarning({ ...config, ignored: [] })).toBeUndefined();
	});

	it("takes all of the same file where the user names it, and none of it for a process that works for others", async () => {
		await writeFile(inWork(), hostile);
		for (const named of [{ policyFile: "palimpsest.toml" }, { environment: { PALIMPSEST_POLICY: inWork() } }]) {
			const config = await loadConfig(sources(named));
			expect(config).toMatchObject({ file: inWork(), found: null, ignored: [], policy: { archive: { max_bytes: 1 } } });
		}
		const { policy, ignored } = await loadConfig(sources({ servesOthers: true }));
		expect(policy.mask.window_turns).toBe(8);
		expect(ignored.map(({ key }) => key)).toContain("mask.window_turns");
	});

	it("is stopped by a broken found file only where something of it would count", async () => {
		await writeFile(inWork(), "mask = [");
		await expect(loadConfig(sources())).rejects.toMatchObject({ code: "invalid_policy" });
		const { policy, found } = await loadConfig(sources({ servesOthers: true }));
		expect([policy.mask.window_turns, found]).toEqual([8, inWork()]);
	});

	it("reads a file that starts with a byte order mark", async () => {
		await writeFile(inWork(), '\ufefflocale = "en"\r\n');
		expect((await loadConfig(sources())).policy.locale).toBe("en");
	});

	it("refuses a named file that is missing, a folder, or too large, with its path", async () => {
		await writeFile(inWork("large.toml"), "#".repeat(1_000_001));
		for (const [name, reason] of [
			["missing.toml", "there is no such file"],
			["../work", "it is a folder"],
			["large.toml", "it has 1000001 bytes"],
		] as const) {
			const refusal = expect(loadConfig(sources({ policyFile: name }))).rejects;
			await refusal.toMatchObject({
				code: "unreadable_file",
				message: expect.stringMatching(`${path.resolve(work, name)}: ${reason}`),
			});
		}
		await expect(loadConfig(sources({ environment: { PALIMPSEST_POLICY: "no.toml" } }))).rejects.toMatchObject({
			code: "unreadable_file",
		});
	});

	it("refuses invalid TOML, invalid UTF-8 and an invalid policy, with the path and the position", async () => {
		await writeFile(inWork(), "[mask]\nwindow_turns = \n");
		await expect(loadConfig(sources())).rejects.toMatchObject({
			code: "invalid_policy",
			message: expect.stringMatching(/palimpsest\.toml:\n- line 2, column \d+: not valid TOML/),
		});
		await writeFile(inWork(), "[mask]\nwindw_turns = 3\n");
		await expect(loadConfig(sources())).rejects.toThrow("Did you mean mask.window_turns?");
		await writeFile(inWork(), Buffer.from([0x23, 0xff, 0xfe]));
		await expect(loadConfig(sources())).rejects.toThrow("not UTF-8 text");
	});
});

describe("createPolicySource", () => {
	let source: PolicySource | undefined;
	const errors: PalimpsestError[] = [];
	const open = async (more: Partial<Parameters<typeof createPolicySource>[0]> = {}) => {
		errors.length = 0;
		source = await createPolicySource({
			...sources(more),
			intervalMilliseconds: 10,
			onError: (error) => errors.push(error),
		});
		return source;
	};
	afterEach(() => source?.close());
	const turns = () => source?.current().mask.window_turns;

	it("follows the file, also when it is replaced by rename, and keeps applying the settings", async () => {
		writeFileSync(inWork(), "[mask]\nwindow_turns = 1\n");
		const policies = await open({ settings: ["mask.keep_errors=false"] });
		expect(policies.found()).toBe(inWork());
		const seen: number[] = [];
		const end = policies.onChange((policy) => seen.push(policy.mask.window_turns));
		writeFileSync(inWork(), "[mask]\nwindow_turns = 2\nkeep_errors = true\n");
		await vi.waitFor(() => expect(turns()).toBe(2), patience);
		expect(policies.current().mask.keep_errors).toBe(false);
		writeFileSync(inWork("new"), "[mask]\nwindow_turns = 3\n");
		await rename(inWork("new"), inWork());
		await vi.waitFor(() => expect(turns()).toBe(3), patience);
		expect(seen).toEqual([2, 3]);
		expect(policies.layers()[0]).toEqual({ mask: { window_turns: 3 } });
		end();
		writeFileSync(inWork(), "[mask]\nwindow_turns = 4\n");
		await vi.waitFor(() => expect(turns()).toBe(4), patience);
		expect(seen).toEqual([2, 3]);
		expect(errors).toEqual([]);
	});

	it("keeps the policy in force while the file is invalid or gone, and reports why", async () => {
		writeFileSync(inWork(), "[mask]\nwindow_turns = 1\n");
		const policies = await open();
		const listener = vi.fn();
		policies.onChange(listener);
		writeFileSync(inWork(), "[mask]\nwindow_turns = 'many'\n");
		await vi.waitFor(() => expect(errors).toHaveLength(1), patience);
		expect(errors[0]).toMatchObject({
			code: "invalid_policy",
			message: expect.stringContaining('got the text "many"'),
		});
		expect(turns()).toBe(1);
		await rm(inWork());
		await vi.waitFor(() => expect(errors).toHaveLength(2), patience);
		expect(errors[1]?.code).toBe("unreadable_file");
		expect(turns()).toBe(1);
		expect(policies.found()).toBe(inWork());
		expect(listener).not.toHaveBeenCalled();
		writeFileSync(inWork(), "[mask]\nwindow_turns = 5\n");
		await vi.waitFor(() => expect(turns()).toBe(5), patience);
		expect(listener).toHaveBeenCalledTimes(1);
	});

	it("reports no unchanged policy, and survives a listener that throws", async () => {
		writeFileSync(inWork(), "[mask]\nwindow_turns = 1\n");
		const policies = await open();
		const listener = vi.fn();
		policies.onChange(() => {
			throw new Error("listener");
		});
		policies.onChange(listener);
		writeFileSync(inWork(), "# a comment\n[mask]\nwindow_turns = 1\n");
		await new Promise((resolve) => setTimeout(resolve, 150));
		expect(listener).not.toHaveBeenCalled();
		writeFileSync(inWork(), "[mask]\nwindow_turns = 2\n");
		await vi.waitFor(() => expect(listener).toHaveBeenCalledTimes(1), patience);
		expect(errors).toMatchObject([{ code: "internal" }]);
	});

	it("loads a file that appears in the working directory", async () => {
		const policies = await open();
		expect([policies.file(), policies.found()]).toEqual([null, null]);
		expect(errors).toEqual([]);
		writeFileSync(inWork(), "[mask]\nwindow_turns = 6\n");
		await vi.waitFor(() => expect(turns()).toBe(6), patience);
		expect(policies.found()).toBe(inWork());
	});

	it("keeps the user's redaction while the user's file is gone and a found one changes", async () => {
		const users = path.join(home, ".config", "palimpsest", "palimpsest.toml");
		writeFileSync(users, '[archive]\nredact = ["SECRET"]\n');
		writeFileSync(inWork(), "[mask]\nwindow_turns = 1\n");
		const warnings: string[] = [];
		const policies = await open({ onIgnored: (warning) => warnings.push(warning) });
		await rm(users);
		writeFileSync(inWork(), "[mask]\nwindow_turns = 2\n[archive]\nmax_bytes = 1\nredact = []\n");
		await vi.waitFor(() => expect(turns()).toBe(2), patience);
		expect(policies.current().archive).toMatchObject({ redact: ["SECRET"], max_bytes: 1_000_000_000 });
		expect(warnings).toEqual([expect.stringContaining("archive.max_bytes, archive.redact")]);
	});

	it("refuses to start with a bad file", async () => {
		writeFileSync(inWork(), "preset = 'none'\n");
		await expect(open()).rejects.toMatchObject({ code: "invalid_policy" });
	});
});

it("removes only variables that a host left unfilled", async () => {
	const run = (locale: string) =>
		runCli(["policy", "show"], { folder: work, environment: { PALIMPSEST_LOCALE: locale } });
	const unfilled = await run("$" + "{user_config.locale}");
	expect(unfilled.code).toBe(0);
	expect(unfilled.text).toContain('"locale": "fr"');
	expect((await run("a$" + "{b}")).code).not.toBe(0);
});
