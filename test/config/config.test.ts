import { writeFileSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
	type ConfigSources,
	createPolicySource,
	findPolicyFile,
	loadConfig,
	type PolicySource,
} from "../../src/config/config.ts";
import type { PalimpsestError } from "../../src/errors.ts";
import { patience } from "../support/patience.ts";
import { runCli } from "../support/run-cli.ts";

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
	it("is the flag, PALIMPSEST_POLICY, the working directory, the user's folder, in this order", async () => {
		const users = path.join(home, ".config", "palimpsest", "palimpsest.toml");
		expect(await findPolicyFile(sources())).toBeNull();
		await writeFile(users, "");
		expect(await findPolicyFile(sources())).toBe(users);
		await writeFile(inWork(), "");
		expect(await findPolicyFile(sources())).toBe(inWork());
		const environment = { PALIMPSEST_POLICY: "named.toml" };
		expect(await findPolicyFile(sources({ environment }))).toBe(inWork("named.toml"));
		expect(await findPolicyFile(sources({ environment: { PALIMPSEST_POLICY: "" } }))).toBe(inWork());
		expect(await findPolicyFile(sources({ environment, policyFile: "flag.toml" }))).toBe(inWork("flag.toml"));
		expect(await findPolicyFile(sources({ policyFile: "~/flag.toml" }))).toBe(path.join(home, "flag.toml"));
	});

	it("follows an absolute XDG_CONFIG_HOME, and APPDATA on Windows", async () => {
		const folder = path.join(root, "settings");
		const file = path.join(folder, "palimpsest", "palimpsest.toml");
		await mkdir(path.dirname(file), { recursive: true });
		await writeFile(file, "");
		expect(await findPolicyFile(sources({ environment: { XDG_CONFIG_HOME: folder } }))).toBe(file);
		expect(await findPolicyFile(sources({ environment: { XDG_CONFIG_HOME: "settings" } }))).toBeNull();
		expect(await findPolicyFile(sources({ environment: { APPDATA: folder }, platform: "win32" }))).toBe(file);
		expect(await findPolicyFile(sources({ environment: { APPDATA: folder } }))).toBeNull();
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
		expect(config.file).toBe(inWork());
		expect(config.layers).toHaveLength(3);
		expect(config.policy.guard).toMatchObject({ budget_ratio: 0.8, reserve_tokens: 1 });
		expect(config.policy.mask).toMatchObject({ enabled: false, window_turns: 2, keep_last_k_per_tool: 3 });
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
	const open = async (more: Partial<ConfigSources> = {}) => {
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
		expect(policies.file()).toBe(inWork());
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
		expect(policies.file()).toBe(inWork());
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
		expect(policies.file()).toBeNull();
		expect(errors).toEqual([]);
		writeFileSync(inWork(), "[mask]\nwindow_turns = 6\n");
		await vi.waitFor(() => expect(turns()).toBe(6), patience);
		expect(policies.file()).toBe(inWork());
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
