import { homedir } from "node:os";
import path from "node:path";

/** This user's folder for state, by the system's convention (https://specifications.freedesktop.org/basedir-spec/latest/). */
export function stateFolder(): string {
	const { platform, env: environment } = process;
	const { normalize } = platform === "win32" ? path.win32 : path.posix;
	return normalize(stateFolderOf({ platform, environment, homeFolder: homedir() }));
}

/** The same for a process that has to be told where it runs. */
export function stateFolderOf(where: {
	readonly platform: string;
	readonly environment: Readonly<Record<string, string | undefined>>;
	readonly homeFolder: string;
}): string {
	const { platform, environment, homeFolder } = where;
	if (platform === "win32") return `${environment.LOCALAPPDATA || `${homeFolder}\\AppData\\Local`}\\palimpsest`;
	if (platform === "darwin") return `${homeFolder}/Library/Application Support/palimpsest`;
	const state = environment.XDG_STATE_HOME ?? "";
	return `${state.startsWith("/") ? state : `${homeFolder}/.local/state`}/palimpsest`;
}

/** This user's folder for settings and keys. The XDG specification says to ignore relative paths. */
export function settingsFolder(): string {
	const { platform, env: environment } = process;
	const ofUser = (platform === "win32" ? environment.APPDATA : environment.XDG_CONFIG_HOME) ?? "";
	return path.join(path.isAbsolute(ofUser) ? ofUser : path.join(homedir(), ".config"), "palimpsest");
}
