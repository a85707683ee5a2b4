import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it } from "vitest";
import { hookTarget, withHook, withoutHook } from "../../src/hosts/hooks.ts";
import type { PluginHost } from "../../src/hosts/host.ts";
import { pluginHosts } from "../../src/hosts/hosts.ts";
import { packageFolder } from "../support/built-cli.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

const [opencode, pi] = ["opencode", "pi"].map(
	(name) => pluginHosts.find((host) => host.name === name) as PluginHost,
) as [PluginHost, PluginHost];
const pluginText = (host: PluginHost) =>
	withHook(undefined, hookTarget(host, { isForProject: false, mostChars: 16_000 }));
const where = { homeFolder: "/home/me", environment: {} };

it("a plugin's file is where the host looks for it", () => {
	expect(opencode.file(where)).toBe("/home/me/.config/opencode/plugins/palimpsest.js");
	expect(opencode.file({ ...where, environment: { XDG_CONFIG_HOME: "/etc/me" } })).toBe(
		"/etc/me/opencode/plugins/palimpsest.js",
	);
	expect(opencode.file({ ...where, projectFolder: "/p" })).toBe("/p/.opencode/plugins/palimpsest.js");
	expect(pi.file(where)).toBe("/home/me/.pi/agent/extensions/palimpsest.js");
	expect(pi.file({ ...where, environment: { PI_CODING_AGENT_DIR: "/agent" } })).toBe("/agent/extensions/palimpsest.js");
	expect(pi.file({ ...where, projectFolder: "/p" })).toBe("/p/.pi/extensions/palimpsest.js");
});

it("the package names the modules that opencode and pi load, and both load", async () => {
	const about = JSON.parse(await readFile(join(packageFolder, "package.json"), "utf8"));
	const load = async (file: string) => (await import(pathToFileURL(join(packageFolder, file)).href)).default;
	const { id, server, setup } = await load(about.exports["./server"].default);
	expect([id, typeof server, typeof setup]).toEqual(["palimpsest", "function", "function"]);
	const tools: string[] = [];
	const pi = { on: () => {}, registerTool: ({ name }: { name: string }) => tools.push(name), getActiveTools: () => [] };
	for (const file of about.pi.extensions) (await load(file))(pi);
	expect(tools).toEqual(["recall_original", "mask_conversation", "guard_context"]);
});

it("another person's file stays", () => {
	const target = hookTarget(pi, { isForProject: false, mostChars: 16_000 });
	expect(withoutHook(pluginText(pi), target)).toBeUndefined();
	expect(withoutHook("export default () => {};\n", target)).toBe("export default () => {};\n");
	expect(withoutHook(undefined, target)).toBeUndefined();
});

it("opencode runs on without a plugin if its program is missing, and its log says why", async () => {
	const folder = await scratchFolder();
	await mkdir(join(folder, "plugins"));
	const file = join(folder, "plugins", "palimpsest.mjs");
	const gone = pluginText(opencode).replace(/dist\/opencode-plugin\.js/, "dist/gone.js");
	await writeFile(file, gone);
	const { default: plugin } = await import(pathToFileURL(file).href);
	const logged: string[] = [];
	const log = async ({ body }: { body: { message: string } }) => void logged.push(body.message);
	expect(await plugin.server({ directory: folder, client: { app: { log } } })).toEqual({});
	expect(logged.join()).toContain("The plugin was not loaded: ");
});
