import path from "node:path";
import { configFolder, type Host, type LaunchSurroundings, type Pointing } from "./host.ts";
import { pointByContent } from "./opencode.ts";

/** Made from opencode. */
export const kilo: Host = {
	name: "kilo",
	title: "Kilo CLI",
	launch: { command: "kilo", point },
};

/** Source: https://kilo.ai/docs/cli (`KILO_CONFIG_CONTENT`), and the order of files that Kilo CLI 7.7 names in its own skill. */
async function point(where: LaunchSurroundings): Promise<Pointing> {
	const { environment, projectFolder = "." } = where;
	const names = ["opencode.json", "opencode.jsonc", "kilo.json", "kilo.jsonc"];
	const inFolder = (at: string) => names.map((name) => path.join(at, name));
	const { KILO_CONFIG: file } = environment;
	const files = [
		...inFolder(path.join(configFolder(where), "kilo")),
		...(file ? [file] : []),
		...inFolder(projectFolder),
		...inFolder(path.join(projectFolder, ".kilo")),
	];
	return pointByContent(where, { variable: "KILO_CONFIG_CONTENT", files });
}
