import { spawnSync } from "node:child_process";
import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { projectFolder } from "./install-programs.ts";

/** The flags with which Claude Code loads our plugin as it is in this checkout, with a module built now. */
export function modParameters(home: string): readonly string[] {
	const folder = join(home, "palimpsest/plugin");
	cpSync(join(projectFolder, "plugins/claude-code"), folder, { recursive: true });
	const args = [join(projectFolder, "dist/cli.js"), "serve", "--hooks", "--tools", "recall_original"];
	const server = { command: process.execPath, args, env: { PALIMPSEST_PRESET: "balanced" } };
	writeFileSync(join(folder, ".mcp.json"), JSON.stringify({ mcpServers: { palimpsest: server } }));
	const script = join(projectFolder, "scripts/build-mod.js");
	const { status, stderr } = spawnSync(process.execPath, [script, join(folder, "hooks/palimpsest.js")], {
		encoding: "utf8",
	});
	if (status !== 0) throw new Error(`The module was not built: ${stderr}`);
	return ["--plugin-dir", folder];
}
