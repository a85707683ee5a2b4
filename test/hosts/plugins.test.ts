import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it } from "vitest";
import { pluginFile, pluginText, withoutPlugin } from "../../src/hosts/plugins.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

const where = { homeFolder: "/home/me", environment: {} };

it("a plugin's file stands where the host looks for it", () => {
	expect(pluginFile("opencode", where)).toBe("/home/me/.config/opencode/plugins/palimpsest.js");
	expect(pluginFile("opencode", { ...where, environment: { XDG_CONFIG_HOME: "/etc/me" } })).toBe(
		"/etc/me/opencode/plugins/palimpsest.js",
	);
	expect(pluginFile("opencode", { ...where, projectFolder: "/p" })).toBe("/p/.opencode/plugins/palimpsest.js");
	expect(pluginFile("pi", where)).toBe("/home/me/.pi/agent/extensions/palimpsest.js");
	expect(pluginFile("pi", { ...where, environment: { PI_CODING_AGENT_DIR: "/agent" } })).toBe(
		"/agent/extensions/palimpsest.js",
	);
	expect(pluginFile("pi", { ...where, projectFolder: "/p" })).toBe("/p/.pi/extensions/palimpsest.js");
});

it("the file of somebody else stays", () => {
	expect(withoutPlugin(pluginText("pi", { mostChars: 16_000 }))).toBeUndefined();
	expect(withoutPlugin("export default () => {};\n")).toBe("export default () => {};\n");
	expect(withoutPlugin(undefined)).toBeUndefined();
});

it("opencode goes on without a plugin whose program is gone, and its log says why", async () => {
	const folder = await scratchFolder();
	await mkdir(join(folder, "plugins"));
	const file = join(folder, "plugins", "palimpsest.mjs");
	const gone = pluginText("opencode", { mostChars: 16_000 }).replace(/dist\/opencode-plugin\.js/, "dist/gone.js");
	await writeFile(file, gone);
	const { default: plugin } = await import(pathToFileURL(file).href);
	const logged: string[] = [];
	const log = async ({ body }: { body: { message: string } }) => void logged.push(body.message);
	expect(await plugin.server({ directory: folder, client: { app: { log } } })).toEqual({});
	expect(logged.join()).toContain("The plugin was not loaded: ");
});
